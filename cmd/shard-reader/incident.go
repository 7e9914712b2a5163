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
	if d.poison() == 0 || d.Redriver != "" {
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
	released map[string]bool // and those that became live again
	last     time.Time       // when the last one did; zero: none has
	followed uint64          // versions on record behind the one that failed, at the most
}

func (i *incident) markers() markers {
	m := markers{blocked: map[string]bool{}, standing: map[string]bool{}, released: map[string]bool{}}
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
				m.released[name], m.last = true, c.At
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

// blocks waits until every poisoned aggregate is blocked.
func (r *run) blocks(ctx context.Context) error {
	i := r.blocked
	err := i.until(ctx, r.workers, fmt.Sprintf("%d aggregates are blocked", r.demo.poison()), func() bool {
		return len(i.markers().standing) >= r.demo.poison()
	})
	if err != nil {
		return err
	}
	n := len(i.markers().standing)
	blocked := cli.Grouped(n) + " aggregates are blocked"
	if n == 1 {
		blocked = "1 aggregate is blocked"
	}
	r.note("%s: the first release cannot apply one type of event; all others go on", blocked)
	return nil
}

// look is what an operator does first. The successor of the worker that was
// killed sends the letters that are still in the outbox.
func (r *run) look(ctx context.Context) error {
	i := r.blocked
	err := i.until(ctx, r.workers, fmt.Sprintf("the queue has %d letters", r.demo.poison()), func() bool { return i.letters() >= r.demo.poison() })
	if err != nil {
		return err
	}
	return i.command(ctx, "groups")
}

// works waits until the newest worker holds a shard.
func (r *run) works(ctx context.Context) error {
	return r.blocked.until(ctx, r.workers, "the newest worker holds a shard", r.workers.works)
}

// fix deploys the next release and redrives.
func (r *run) fix(ctx context.Context) error {
	i := r.blocked
	if err := r.works(ctx); err != nil { // the killed one's leases have expired
		return err
	}
	if err := r.workers.drain(ctx); err != nil {
		return err
	}
	i.fixed = time.Now()
	r.workers.flags.Fold = i.flags.Fold
	r.note("the next release starts, whose fold knows the type; %s of the blocked ones' events wait by reference", cli.Grouped(i.markers().followed))
	if err := r.workers.start(); err != nil {
		return err
	}
	if err := r.works(ctx); err != nil {
		return err
	}
	// The rate's limit is for tables that others depend on.
	if err := i.command(ctx, "redrive", "--all", "--execute", "--rate", "0", "--queue", i.queue); err != nil {
		return err
	}
	beside := " and beside live traffic"
	if r.traffic.appended.Load() == uint64(r.traffic.total) { //nolint:gosec // a count
		beside = "" // a small demo has none left
	}
	r.note("dlq-redriver has brought them back, in order%s", beside)
	return nil
}

// command runs a verb of dlq-redriver and shows what it prints.
func (i *incident) command(ctx context.Context, verb string, args ...string) error {
	line := append([]string{verb}, args...)
	told := "dlq-redriver " + strings.Join(line, " ")
	line = append(line, "--local", "--endpoint-url", i.flags.EndpointURL, "--group", i.flags.Group, "--events", i.flags.Events, "--view", i.flags.View, "--control", i.flags.Control)
	cmd := exec.CommandContext(ctx, i.path, line...)
	cmd.Env = append(os.Environ(), "AWS_EC2_METADATA_DISABLED=true")
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &failed, time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", told, err)
	}
	i.show.say("$ %s (process %d)", told, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return errors.Join(context.Cause(ctx), fmt.Errorf("%s: %w; its words:\n%s%s", told, err, out.String(), failed.String()))
	}
	i.show.quote(out.String())
	return nil
}

// tell fills in what the incident came to.
func (i *incident) tell(result *demoResult) {
	m := i.markers()
	result.Blocked, result.Redriven, result.Letters = len(m.blocked), len(m.released), i.letters()
	result.followed = m.followed
	if !m.last.IsZero() {
		result.recovered = m.last.Sub(i.fixed)
	}
}
