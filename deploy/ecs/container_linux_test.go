package ecs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"millrace/internal/localaws"
)

// output is what a process writes, read while it does.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestStartedAsInAContainer: the image's worker as process 1, as nobody the host
// knows, on a root that cannot be written, stopped by SIGTERM. Namespaces do what
// a container engine would.
func TestStartedAsInAContainer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: mounts and users of one's own need root; nothing was started")
	}
	files, err := Files(t.Context(), "../..", ".", runtime.GOARCH, "test")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range files {
		name := filepath.Join(root, f.Path)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // as in the image
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, os.FileMode(f.Mode)); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(f.Path, "/etc/millrace/") && stack(filepath.Base(f.Path)) {
			t.Errorf("%s is a template", f.Path)
		}
	}
	readOnly(t, root)
	engine := localaws.New(localaws.Options{Shards: 1})
	server, err := engine.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Close()
		_ = engine.Close()
	})
	var out output
	worker := exec.Command("/shard-reader", "run", "-c", "/etc/millrace/millrace.yaml", "--local", "--endpoint-url", server.URL, "--create-tables") //nolint:noctx // it is stopped below
	worker.Stdout, worker.Stderr, worker.Dir = &out, &out, "/"
	worker.Env = []string{"MILLRACE_GROUP=orders", "MILLRACE_CONTROL=millrace", "MILLRACE_EVENTS=orders-events", "MILLRACE_VIEW=orders-view", "MILLRACE_HTTP=127.0.0.1:0"}
	worker.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC,
	}
	if err := worker.Start(); err != nil {
		t.Skipf("SKIPPED: no namespaces here (%v); nothing was started", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- worker.Wait() }()
	t.Cleanup(func() { _ = worker.Process.Kill() })
	s := &stage{t: t}
	s.until("it works", func() bool { return strings.Contains(out.String(), "worker starts") })
	status, err := os.ReadFile("/proc/" + itoa(worker.Process.Pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Uid:\t65532\t65532\t65532\t65532", "NSpid:\t" + itoa(worker.Process.Pid) + "\t1", "CapEff:\t0000000000000000"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("the process has not %q:\n%s", want, status)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "written"), nil, 0o600); err == nil {
		t.Error("the root can be written")
	}
	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || !strings.Contains(out.String(), "worker ends") {
		t.Errorf("it ended with %v:\n%s", err, out.String())
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// readOnly makes a folder one that nobody can write to, root included.
func readOnly(t *testing.T, folder string) {
	t.Helper()
	if err := syscall.Mount(folder, folder, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("SKIPPED: no mounts here (%v); nothing was started", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mount("", folder, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}
