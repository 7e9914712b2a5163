package ecs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// File is one file of an image.
type File struct {
	Path string // absolute
	Mode int64  // permissions
	Data []byte
}

// Platform is an image for one architecture.
type Platform struct {
	Architecture string // amd64 or arm64
	Files        []File
}

// epoch is the time of everything in an image: the same sources give the same
// bytes, whenever and wherever.
var epoch = time.Unix(0, 0).UTC() //nolint:gochecknoglobals // a constant that is none in Go

// User is who runs in a container: nobody that a host knows.
const User = "65532:65532"

// descriptor names a blob (OCI image specification, descriptor.md).
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// layout is an OCI image layout in the making.
type layout struct{ blobs map[string][]byte }

func (l *layout) put(mediaType string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	l.blobs[digest] = data
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: len(data)}
}

func (l *layout) putJSON(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, fmt.Errorf("encoding %s: %w", mediaType, err)
	}
	return l.put(mediaType, data), nil
}

const (
	ociIndex    = "application/vnd.oci.image.index.v1+json"
	ociManifest = "application/vnd.oci.image.manifest.v1+json"
	ociConfig   = "application/vnd.oci.image.config.v1+json"
	ociLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// Write writes an image of one or more platforms as a tar of an OCI image layout,
// and returns its digest. The tag is what a loader calls it; empty: nothing.
func Write(to io.Writer, tag string, platforms []Platform) (digest string, err error) {
	l := &layout{blobs: map[string][]byte{}}
	var manifests []descriptor
	for _, p := range platforms {
		m, err := l.platform(p)
		if err != nil {
			return "", err
		}
		manifests = append(manifests, m)
	}
	index, err := l.putJSON(ociIndex, map[string]any{"schemaVersion": 2, "mediaType": ociIndex, "manifests": manifests})
	if err != nil {
		return "", err
	}
	if tag != "" {
		_, name, _ := strings.Cut(tag, ":")
		index.Annotations = map[string]string{"org.opencontainers.image.ref.name": name, "io.containerd.image.name": tag}
	}
	root, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": ociIndex, "manifests": []descriptor{index}})
	if err != nil {
		return "", fmt.Errorf("encoding the index: %w", err)
	}
	files := []File{{"/index.json", 0o644, root}, {"/oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)}}
	for name, blob := range l.blobs {
		files = append(files, File{"/blobs/sha256/" + name, 0o644, blob})
	}
	return index.Digest, archive(to, files)
}

func (l *layout) platform(p Platform) (descriptor, error) {
	var plain, packed bytes.Buffer
	if err := archive(&plain, p.Files); err != nil {
		return descriptor{}, err
	}
	zip := gzip.NewWriter(&packed) // its header has no name and no time
	if _, err := zip.Write(plain.Bytes()); err != nil {
		return descriptor{}, fmt.Errorf("packing a layer: %w", err)
	}
	if err := zip.Close(); err != nil {
		return descriptor{}, fmt.Errorf("packing a layer: %w", err)
	}
	unpacked := sha256.Sum256(plain.Bytes())
	config, err := l.putJSON(ociConfig, map[string]any{
		"created": epoch, "architecture": p.Architecture, "os": "linux",
		"config": map[string]any{"User": User, "Entrypoint": []string{"/shard-reader"}, "StopSignal": "SIGTERM", "WorkingDir": "/"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(unpacked[:])}},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := l.putJSON(ociManifest, map[string]any{
		"schemaVersion": 2, "mediaType": ociManifest, "config": config, "layers": []descriptor{l.put(ociLayer, packed.Bytes())},
	})
	manifest.Platform = map[string]string{"architecture": p.Architecture, "os": "linux"}
	return manifest, err
}

// archive writes files, and the folders that they are in, in the order of their
// names, as root's and of one time.
func archive(to io.Writer, files []File) error {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	w := tar.NewWriter(to)
	made := map[string]bool{"/": true, ".": true}
	for _, f := range files {
		var folders []string
		for folder := path.Dir(f.Path); !made[folder]; folder = path.Dir(folder) {
			made[folder] = true
			folders = append(folders, folder)
		}
		slices.Reverse(folders)
		for _, folder := range folders {
			header := &tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(folder, "/") + "/", Mode: 0o755, ModTime: epoch, Format: tar.FormatUSTAR}
			if err := w.WriteHeader(header); err != nil {
				return fmt.Errorf("writing folder %s: %w", folder, err)
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.Path, "/"), Mode: f.Mode, Size: int64(len(f.Data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("writing %s: %w", f.Path, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return fmt.Errorf("writing %s: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("writing an archive: %w", err)
	}
	return nil
}
