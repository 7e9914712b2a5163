package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"millrace/internal/cli"
)

// TestUsage: a command line that cannot work is exit code 2, names its flag and
// says what would do.
func TestUsage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed below
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nobody connects
	for _, tc := range []struct {
		args string
		want []string
	}{
		{"", []string{"expected one of", "Try shard-reader --help."}},
		{"rnu", []string{"unexpected argument rnu", "Try shard-reader --help."}},
		{"run --lese 3s", []string{"unknown flag --lese", "Try shard-reader run --help."}},
		{"run --lease soon", []string{"--lease", "Try shard-reader run --help."}},
		{"run --lease 10", []string{"--lease", "Try shard-reader run --help."}},
		{"run --lease 100ms", []string{"--lease is 100ms and must be at least 1s"}},
		{"run --drain=-1s", []string{"--drain is -1s and must not be negative"}},
		{"run --reads-per-second=-1", []string{"--reads-per-second is -1", "0 means no limit"}},
		{"run --reads-per-second=NaN", []string{"--reads-per-second is NaN", "0 means no limit"}},
		{"run --parallel 0", []string{"--parallel is 0 and must be at least 1"}},
		{"run --progress=-1s", []string{"--progress is -1s"}},
		{"run --log-level loud", []string{"--log-level", "debug", "Try shard-reader run --help."}},
		{"run --fold stock", []string{"--fold", "orders"}},
		{"run --local --endpoint-url http://127.0.0.1:1 --view orders-events", []string{`events and the read model are the same table "orders-events"`}},
		{"verify --local --endpoint-url http://127.0.0.1:1 --events millrace", []string{`events and control are the same table "millrace"`}},
		{"run --local", []string{"--local is for the embedded engine and needs its address", "--endpoint-url http://127.0.0.1:8008", "Try shard-reader run --help."}},
		{"verify --local", []string{"--endpoint-url"}},
		{"run -c no-such.yaml", []string{"no-such.yaml", "no such file"}},
		{"run -c ../../examples/orders/millrace.yaml --group other", []string{"--config says all about the pipeline", "--group"}},
		{"run -c ../../examples/orders/millrace.yaml --lease 5s", []string{"--config says how the worker works", "--progress"}},
		{"verify -c ../../config/testdata/broken/01-unknown-key.yaml", []string{"01-unknown-key.yaml:1: grup: unknown key; did you mean \"group\"?"}},
		{"run -c ../../config/testdata/broken/17-fold-broken.yaml", []string{"fold-broken.yml:5: on.Placed.set.total", "Syntax error"}},
		{"verify --output yaml", []string{"--output", "json", "Try shard-reader verify --help."}},
		{"verify --wait=-1s", []string{"--wait is -1s"}},
		{"verify --timeout=-1s", []string{"--timeout is -1s"}},
		{"demo --events 0", []string{"--events is 0 and must be at least 1"}},
		{"demo --events 5 --aggregates 6", []string{"--aggregates is 6 and must be between 1 and the number of --events, 5"}},
		{"demo --hot 1.5", []string{"--hot is 1.5 and must be a share between 0 and 1"}},
		{"demo --hot NaN", []string{"--hot is NaN"}},
		{"demo --poison=-1", []string{"--poison is -1 and must be between 0 and the number of --aggregates, 200"}},
		{"demo --events 5 --aggregates 2 --poison 3", []string{"--poison is 3 and must be between 0 and the number of --aggregates, 2"}},
		{"demo --shards 0", []string{"--shards is 0 and must be between 1 and 1000"}},
		{"local --shards 0", []string{"--shards is 0 and must be between 1 and 1000"}},
		{"local --listen " + taken.Addr().String(), []string{taken.Addr().String(), "--listen", "127.0.0.1:0 for a free one"}},
		{"local --listen 0.0.0.0:0", []string{"0.0.0.0:0", "loopback", "--listen"}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			code, out, stderr := call(t, strings.Fields(tc.args)...)
			if code != cli.Usage || out != "" {
				t.Errorf("code %d, stdout %q", code, out)
			}
			for _, want := range tc.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q, want %q", stderr, want)
				}
			}
		})
	}
}

// TestNothingSetUp: run on a machine without AWS set up says soon what to set.
func TestNothingSetUp(t *testing.T) {
	t.Parallel()
	// A metadata service that takes connections and never answers.
	silent, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for _, tc := range []struct {
		name string
		env  []string
		want []string
	}{
		{"no Region", nil, []string{"no AWS Region", "AWS_REGION", "--region"}},
		{"no credentials", []string{"AWS_REGION=eu-central-1"}, []string{"no AWS credentials", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"}},
		{
			"a metadata service that hangs",
			[]string{"AWS_REGION=eu-central-1", "AWS_EC2_METADATA_DISABLED=false", "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://" + silent.Addr().String()},
			[]string{"no AWS credentials", "AWS_ACCESS_KEY_ID"},
		},
		{"no such profile", []string{"AWS_REGION=eu-central-1", "AWS_PROFILE=nobody"}, []string{"nobody"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			p := spawn(t, environment(t, tc.env...), "run")
			if code := p.wait(); code != cli.Usage || p.out.String() != "" {
				t.Errorf("code %d, stdout %q", code, p.out.String())
			}
			// 5 s are promised; a busy machine starts a process in some more.
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			for _, want := range tc.want {
				if !strings.Contains(p.err.String(), want) {
					t.Errorf("stderr %q, want %q", p.err.String(), want)
				}
			}
		})
	}
}
