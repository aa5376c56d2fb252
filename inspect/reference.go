package inspect

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/ccgate/ccgate/inspect/layer"
)

// Kind is the kind of place that a reference points to.
type Kind string

// The kinds of references, written as their prefix; a registry image has none.
const (
	KindRegistry      Kind = "registry"
	KindDockerDaemon  Kind = "docker-daemon" // of Docker or Podman
	KindDockerArchive Kind = "docker-archive"
	KindOCI           Kind = "oci"
	KindOCIArchive    Kind = "oci-archive"
	KindDir           Kind = "dir"
	KindFile          Kind = "file"
	KindStream        Kind = "-" // an archive on standard input
)

// Reference names an image, a root file system or a file.
type Reference struct {
	Kind Kind
	// Text is the reference as it was written.
	Text string
	// Path is the file or directory, or the name or ID of an image as a daemon is asked for
	// it; empty for a registry image.
	Path string
	// Tag selects one image of an archive or layout; empty takes the only one.
	Tag string

	image name.Reference // of a registry image
}

// String returns the reference as it was written.
func (r Reference) String() string { return r.Text }

// layoutTag is what may follow the path of an archive or a layout: a tag or a
// whole image name, as both are found in the annotations of an index.
var layoutTag = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@+-]{0,254}$`)

// ParseReference parses a reference as skopeo writes it, without a prefix for
// a registry image: NAME[:TAG], NAME@DIGEST, docker-daemon:NAME[:TAG],
// docker-daemon:NAME@DIGEST, docker-daemon:ID, docker-archive:FILE[:NAME:TAG],
// oci:DIR[:TAG], oci-archive:FILE[:TAG], dir:ROOTFS, file:PATH, or - for an archive on standard input. As in
// skopeo, the first colon after the path starts the tag. A reference that
// cannot be one is a [*ReferenceError] with a hint of what to type.
func ParseReference(s string) (Reference, error) {
	prefix, rest, found := strings.Cut(s, ":")
	if s == string(KindStream) {
		return Reference{Kind: KindStream, Text: s}, nil
	}
	if found {
		switch kind := Kind(prefix); kind {
		case KindDockerDaemon:
			return parseDaemon(s, rest)
		case KindDockerArchive, KindOCI, KindOCIArchive:
			return parseLayout(s, kind, rest)
		case KindDir, KindFile:
			if rest == "" {
				return Reference{}, badReference(s, "names no path", "write "+prefix+":PATH")
			}
			return Reference{Kind: kind, Text: s, Path: rest}, nil
		}
	}
	if err := foreignTransport(s); err != nil {
		return Reference{}, err
	}
	if err := barePath(s); err != nil {
		return Reference{}, err
	}
	image, err := name.ParseReference(s)
	if err != nil {
		return Reference{}, badReference(s, "is not an image name",
			"write NAME:TAG, NAME@sha256:DIGEST, or one of docker-daemon:NAME:TAG, docker-archive:FILE, oci:DIR, oci-archive:FILE, dir:ROOTFS, file:PATH")
	}
	return Reference{Kind: KindRegistry, Text: s, image: image}, nil
}

func badReference(s, reason, hint string) *ReferenceError {
	return &ReferenceError{Reference: s, Reason: reason, Hint: hint}
}

func parseLayout(s string, kind Kind, rest string) (Reference, error) {
	volume := filepath.VolumeName(rest)
	path, tag, tagged := strings.Cut(rest[len(volume):], ":")
	path = volume + path
	switch {
	case path == "":
		return Reference{}, badReference(s, "names no path", "write "+string(kind)+":PATH")
	case tagged && !layoutTag.MatchString(tag):
		return Reference{}, badReference(s, "has a tag that cannot be one: \""+layer.Visible(tag)+"\"",
			"write "+string(kind)+":PATH or "+string(kind)+":PATH:TAG; a path must not hold a colon")
	}
	return Reference{Kind: kind, Text: s, Path: path, Tag: tag}, nil
}

// foreignTransport explains prefixes that other tools know.
func foreignTransport(s string) error {
	prefix, rest, _ := strings.Cut(s, ":")
	switch prefix {
	case "docker", "http", "https":
		if bare, ok := strings.CutPrefix(rest, "//"); ok {
			return badReference(s, "has a prefix that is not needed", "write "+layer.Visible(bare))
		}
	case "containers-storage", "ostree", "sif", "tarball":
		if rest != "" {
			return badReference(s, "names a store that is not read directly",
				"write docker-daemon:NAME:TAG where podman's socket is on, or save the image to a file (podman save) and write docker-archive:FILE")
		}
	}
	return nil
}

// barePath catches a local path that was written without a prefix.
// A plain word stays an image name even where a file is called so.
func barePath(s string) error {
	info, err := os.Stat(s)
	exists := err == nil
	switch {
	case s == "":
		return badReference(s, "is empty", "write NAME:TAG")
	case exists && info.IsDir() && looksLikePath(s):
		return badReference(s, "is a directory", "write oci:"+s+" for an OCI layout or dir:"+s+" for a root file system")
	case exists && archiveName(s):
		return badReference(s, "is a file", archiveHint(s))
	case exists && (looksLikePath(s) || objectName(s)):
		return badReference(s, "is a file", "write file:"+s)
	case looksLikePath(s):
		return badReference(s, "looks like a path, and there is nothing at it", "check the path, and write docker-archive:, oci:, oci-archive:, dir: or file: before it")
	case archiveName(s) && !namesHost(s):
		return badReference(s, "looks like an archive, and there is no such file", "check the path, and write docker-archive: or oci-archive: before it")
	case objectName(s) && !namesHost(s):
		return badReference(s, "looks like a file, and there is no such file", "check the path, and write file: before it")
	}
	return nil
}

func looksLikePath(s string) bool {
	return s == "." || s == ".." || s == "~" || filepath.IsAbs(s) ||
		slices.ContainsFunc([]string{"./", "../", "~/", "/", `.\`, `..\`}, func(p string) bool { return strings.HasPrefix(s, p) })
}

// namesHost reports whether an image name begins with a registry. An image whose name ends
// like a file is written so.
func namesHost(s string) bool {
	host, _, ok := strings.Cut(s, "/")
	return ok && (strings.ContainsAny(host, ".:") || host == "localhost")
}

// archiveHint says how an archive is written.
func archiveHint(path string) string {
	return "write docker-archive:" + path + " for the output of docker save or oci-archive:" + path + " for a tar of an OCI layout"
}

func archiveName(s string) bool {
	return hasSuffix(s, ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2")
}

func objectName(s string) bool {
	return hasSuffix(s, ".so", ".whl", ".cubin", ".fatbin", ".ptx") || strings.Contains(s, ".so.")
}

func hasSuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
}
