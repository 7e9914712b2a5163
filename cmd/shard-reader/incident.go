package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/event"
	"millrace/internal/cli"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
)

// redriver is the program beside this one that brings blocked aggregates back;
// empty where the demo needs none.
func (d demoCommand) redriver() (string, error) {
	if d.Poison == 0 || d.Redriver != "" {
		return d.Redriver, nil
	}
	program, err := executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(program), "dlq-redriver"+filepath.Ext(program))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the demo redrives with dlq-redriver, which is not beside this program at %s: run make build, or use --poison 0", path)
	} else if err != nil {
		return "", fmt.Errorf("looking for dlq-redriver: %w", err)
	}
	return path, nil
}

// incident is what becomes of the events that the first release cannot apply.
// What it counts is the engine's word, not the programs'.
type incident struct {
	engine *localaws.Engine
	queue  string // the on-failure queue
	path   string // of dlq-redriver
	flags  cli.Pipeline
	show   *stage
	fixed  time.Time // when the next release started
}

func newIncident(ctx context.Context, engine *localaws.Engine, path string, flags cli.Pipeline, show *stage) (*incident, error) {
	i := &incident{engine: engine, queue: "demo-failures", path: path, flags: flags, show: show}
	_, err := sqs.NewFromConfig(engine.Config("demo")).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &i.queue})
	if err != nil {
		return nil, fmt.Errorf("creating the on-failure queue: %w", err)
	}
	return i, nil
}

// markers are what the history of the control table says of markers.
type markers struct {
	blocked  map[string]bool // aggregates that ever were
	standing map[string]bool // and those that still are
	released int             // times that one became live
	followed uint64          // versions on record behind the one that failed, at the most
}

func (i *incident) markers() markers {
	m := markers{blocked: map[string]bool{}, standing: map[string]bool{}}
	behind := map[string]uint64{}
	for _, c := range i.engine.History(i.flags.Control) {
		key, _ := c.Key["pk"].(event.String)
		aggregate, _ := c.Key["sk"].(event.String)
		if !strings.HasPrefix(string(key), "M|") {
			continue
		}
		state, before := c.New["state"], c.Old["state"]
		switch name := string(aggregate); {
		case state == event.String("live") || state == nil:
			delete(m.standing, name)
			if before != nil && before != event.String("live") {
				m.released++
			}
		default:
			m.blocked[name], m.standing[name] = true, true
			behind[name] = max(behind[name], numberOf(c.New["seenVersion"])-numberOf(c.New["blockedVersion"]))
		}
	}
	for _, n := range behind {
		m.followed += n
	}
	return m
}

func numberOf(v event.Value) uint64 {
	var n uint64
	if number, ok := v.(event.Number); ok {
		_, _ = fmt.Sscan(string(number), &n) // a marker's numbers are whole
	}
	return n
}

// letters are the distinct ids of the letters that the queue accepted.
func (i *incident) letters() int {
	ids := map[string]bool{}
	for _, m := range i.engine.Accepted(i.queue) {
		var letter struct {
			ID string `json:"letterId"`
		}
		if json.Unmarshal([]byte(m.Body), &letter) == nil && letter.ID != "" {
			ids[letter.ID] = true
		}
	}
	return len(ids)
}

// incidentPatience is how long the demo waits for what takes seconds.
const incidentPatience = 60 * time.Second

// until waits for a condition, while the worker lives.
func (i *incident) until(ctx context.Context, workers *workers, what string, holds func() bool) error {
	limited, cancel := context.WithTimeout(ctx, incidentPatience)
	defer cancel()
	for !holds() {
		if err := workers.alive(); err != nil {
			return err
		}
		if jitter.Sleep(limited, 20*time.Millisecond) != nil {
			if err := context.Cause(ctx); err != nil {
				return fmt.Errorf("waiting until %s: %w", what, err)
			}
			return fmt.Errorf("after %v it is still not so that %s: %d aggregates blocked, %d letters accepted", incidentPatience, what, len(i.markers().standing), i.letters())
		}
	}
	return nil
}

// fix is what an operator does: look, deploy the fix, redrive.
func (r *run) fix(ctx context.Context) error {
	i := r.blocked
	if i == nil {
		return nil
	}
	poison := r.demo.Poison
	err := i.until(ctx, r.workers, fmt.Sprintf("%d aggregates are blocked and the queue has their letters", poison), func() bool {
		return len(i.markers().standing) >= poison && i.letters() >= poison
	})
	if err != nil {
		return err
	}
	m := i.markers()
	r.note("the first release cannot apply one type of event: %d aggregates are blocked, %s of their events wait by reference, all others go on", len(m.standing), cli.Grouped(m.followed))
	if err := i.command(ctx, "groups"); err != nil {
		return err
	}
	if err := r.workers.drain(ctx); err != nil {
		return err
	}
	i.fixed = time.Now()
	r.workers.flags.Fold = i.flags.Fold
	r.note("the next release starts, whose fold knows the type")
	if err := r.workers.start(); err != nil {
		return err
	}
	if err := i.command(ctx, "redrive", "--all", "--execute", "--queue", i.queue); err != nil {
		return err
	}
	r.note("dlq-redriver has brought them back, in order and beside live traffic")
	return nil
}

// command runs a verb of dlq-redriver and shows what it prints.
func (i *incident) command(ctx context.Context, verb string, args ...string) error {
	line := append([]string{verb}, args...)
	i.show.say("$ dlq-redriver %s", strings.Join(line, " "))
	line = append(line, "--local", "--endpoint-url", i.flags.EndpointURL, "--group", i.flags.Group, "--events", i.flags.Events, "--view", i.flags.View, "--control", i.flags.Control)
	cmd := exec.CommandContext(ctx, i.path, line...)
	cmd.Env = append(os.Environ(), "AWS_EC2_METADATA_DISABLED=true")
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("dlq-redriver %s: %w\n%s%s", verb, err, out.String(), failed.String())
	}
	i.show.quote(out.String())
	return nil
}

// tell fills in what the incident came to.
func (i *incident) tell(result *demoResult) {
	m := i.markers()
	result.Blocked, result.Redriven, result.Letters = len(m.blocked), m.released, i.letters()
	result.followed = m.followed
	for _, c := range i.engine.History(i.flags.View) {
		if aggregate, _ := c.Key["pk"].(event.String); m.blocked[string(aggregate)] && c.At.After(i.fixed) {
			result.recovered = max(result.recovered, c.At.Sub(i.fixed))
			break
		}
	}
}
