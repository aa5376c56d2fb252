package build

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// walkNPM lays the tar of an npm package out below /app/node_modules.
func walkNPM(name, file string, visit func(m Member, name string) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return walkTar(z, func(m Member) error {
		_, inside, _ := strings.Cut(m.Path, "/") // npm drops the first component
		m.Path = path.Join("app/node_modules", name, inside)
		return visit(m, inside)
	})
}

// walkDeb lays the files of a Debian package out at the root.
func walkDeb(file string, visit func(m Member, name string) error) error {
	cmd := exec.Command("dpkg-deb", "--fsys-tarfile", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = walkTar(out, func(m Member) error { return visit(m, m.Path) })
	// What follows the end mark of the tar has to be taken from the pipe.
	_, drain := io.Copy(io.Discard, out)
	return errors.Join(err, drain, cmd.Wait())
}

// walkTar visits regular files and symbolic links.
func walkTar(r io.Reader, visit func(Member) error) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		m := Member{Path: strings.TrimPrefix(path.Clean(h.Name), "/"), Mode: h.Mode & 0o777, Size: h.Size}
		m.Open = func() (io.ReadCloser, error) { return io.NopCloser(t), nil }
		switch h.Typeflag {
		case tar.TypeReg:
		case tar.TypeSymlink:
			m.Link = h.Linkname
		case tar.TypeDir:
			continue
		default:
			return fmt.Errorf("%s: tar entry of type %q", h.Name, h.Typeflag)
		}
		if err := visit(m); err != nil {
			return err
		}
	}
}
