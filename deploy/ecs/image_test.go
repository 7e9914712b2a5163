package ecs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func sample() []Platform {
	of := func(architecture string) Platform {
		return Platform{Architecture: architecture, Files: []File{
			{"/etc/millrace/millrace.yaml", 0o644, []byte("group: g\n")}, {"/shard-reader", 0o755, []byte("program for " + architecture)}, {"/etc/passwd", 0o644, []byte("x")},
		}}
	}
	return []Platform{of("amd64"), of("arm64")}
}

// TestSameSourcesSameBytes, in whatever order the files come; another byte in a
// file is another image.
func TestSameSourcesSameBytes(t *testing.T) {
	write := func(p []Platform) (string, []byte) {
		t.Helper()
		var b bytes.Buffer
		digest, err := Write(&b, "millrace:v1", p)
		if err != nil {
			t.Fatal(err)
		}
		return digest, b.Bytes()
	}
	digest, first := write(sample())
	turned := sample()
	f := turned[1].Files
	f[0], f[2] = f[2], f[0]
	if again, bytesAgain := write(turned); again != digest || !bytes.Equal(first, bytesAgain) {
		t.Error("the same files give other bytes")
	}
	other := sample()
	other[0].Files[1].Data = []byte("another program")
	if changed, _ := write(other); changed == digest {
		t.Error("another program gives the same digest")
	}
}

// TestLayoutOfAnImage: a loader finds both architectures, by digests that are
// right, with the user and the entry point.
func TestLayoutOfAnImage(t *testing.T) {
	var b bytes.Buffer
	digest, err := Write(&b, "millrace:v1", sample())
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, &b)
	read := func(of string, to any) {
		t.Helper()
		if err := json.Unmarshal(files[of], to); err != nil {
			t.Fatalf("%s: %v", of, err)
		}
	}
	blob := func(digest string) string { return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:") }
	var root, index struct{ Manifests []descriptor }
	read("index.json", &root)
	if len(root.Manifests) != 1 || root.Manifests[0].Digest != digest || root.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1" {
		t.Fatalf("index.json has %+v", root)
	}
	read(blob(digest), &index)
	for i, architecture := range []string{"amd64", "arm64"} {
		m := index.Manifests[i]
		if m.Platform["architecture"] != architecture || m.Platform["os"] != "linux" || m.Size != len(files[blob(m.Digest)]) {
			t.Errorf("manifest %d is %+v", i, m)
		}
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		read(blob(m.Digest), &manifest)
		var config struct {
			Architecture string
			Config       struct {
				User       string
				Entrypoint []string
			}
		}
		read(blob(manifest.Config.Digest), &config)
		if config.Architecture != architecture || config.Config.User != User || config.Config.Entrypoint[0] != "/shard-reader" {
			t.Errorf("the configuration is %+v", config)
		}
		zip, err := gzip.NewReader(bytes.NewReader(files[blob(manifest.Layers[0].Digest)]))
		if err != nil {
			t.Fatal(err)
		}
		if layer := unpack(t, zip); string(layer["shard-reader"]) != "program for "+architecture || len(layer["etc/millrace/millrace.yaml"]) == 0 {
			t.Errorf("the layer has %d files", len(layer))
		}
	}
}

func unpack(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || !header.ModTime.Equal(epoch) {
			t.Errorf("%s is of %d:%d, %v", header.Name, header.Uid, header.Gid, header.ModTime)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
