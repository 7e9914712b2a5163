// Command image builds Millrace's container image for two architectures, with
// Go's own tools: no daemon, no shell, and the same bytes from the same sources.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"millrace/deploy/ecs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	out := flag.String("out", "image/millrace.tar", "the OCI image layout to write, as a tar")
	root := flag.String("root", ".", "the module's folder")
	configuration := flag.String("config", "deploy/ecs", "the folder whose .yaml files become /etc/millrace; the templates in it do not")
	version := flag.String("version", "dev", "what the programs call themselves")
	architectures := flag.String("arch", "amd64,arm64", "for which to build")
	flag.Parse()
	var platforms []ecs.Platform
	for _, architecture := range strings.Split(*architectures, ",") {
		files, err := ecs.Files(ctx, *root, *configuration, architecture, *version)
		if err != nil {
			return err
		}
		platforms = append(platforms, ecs.Platform{Architecture: architecture, Files: files})
	}
	if err := os.MkdirAll(filepath.Dir(*out), 0o755); err != nil { //nolint:gosec // others may read an image
		return fmt.Errorf("making the image's folder: %w", err)
	}
	file, err := os.Create(*out)
	if err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	digest, err := ecs.Write(file, "millrace:"+*version, platforms)
	if closed := file.Close(); err == nil && closed != nil {
		err = fmt.Errorf("writing the image: %w", closed)
	}
	if err != nil {
		return err
	}
	fmt.Println(*out, digest)
	return nil
}
