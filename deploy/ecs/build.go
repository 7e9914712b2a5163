package ecs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Files are what an image has for one architecture: the two programs, built from
// the module in root, a user to run as, and the files of the folder named
// configuration as /etc/millrace. It has no shell, and no certificates: the
// programs bring their own.
func Files(ctx context.Context, root, configuration, architecture, version string) ([]File, error) {
	files := []File{{Path: "/etc/passwd", Mode: 0o644, Data: []byte("millrace:x:65532:65532::/:/sbin/nologin\n")}}
	folder, err := os.MkdirTemp("", "millrace-image-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to build in: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // it is temporary
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w -X main.version="+version,
		"-o", folder+string(filepath.Separator), "./cmd/shard-reader", "./cmd/dlq-redriver")
	build.Dir = root
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+architecture, "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the programs for linux/%s: %w\n%s", architecture, err, out)
	}
	for _, name := range []string{"shard-reader", "dlq-redriver"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("reading a program: %w", err)
		}
		files = append(files, File{Path: "/" + name, Mode: 0o755, Data: data})
	}
	entries, err := os.ReadDir(configuration)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration's folder: %w", err)
	}
	for _, e := range entries {
		// Templates lie beside it, and are none.
		if e.IsDir() || filepath.Ext(e.Name()) != ".yaml" || strings.HasPrefix(e.Name(), ".") || stack(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(configuration, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		files = append(files, File{Path: "/etc/millrace/" + e.Name(), Mode: 0o644, Data: data})
	}
	return files, nil
}

// stack reports whether a file is one of the templates.
func stack(name string) bool {
	return name == "storage.yaml" || name == "worker.yaml" || name == "redrive.yaml"
}
