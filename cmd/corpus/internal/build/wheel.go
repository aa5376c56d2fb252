package build

import (
	"archive/zip"
	"io"
	"io/fs"
	"path"
	"strings"
)

// sitePackages is where pip of Debian's python3.11 puts packages for all users.
const sitePackages = "usr/local/lib/python3.11/dist-packages"

// walkWheel lays a wheel out as the binary distribution format says: the root
// into site-packages, the sub-folders of NAME.data by their scheme.
func walkWheel(file string, visit func(m Member, name string) error) error {
	z, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if f.FileInfo().IsDir() {
			continue
		}
		mode := int64(f.Mode().Perm())
		if mode == 0 {
			mode = 0o644
		}
		m := Member{Path: wheelPath(f.Name), Mode: mode, Size: int64(f.UncompressedSize64), Open: f.Open}
		if f.Mode()&fs.ModeSymlink != 0 {
			if m.Link, err = readLink(f); err != nil {
				return err
			}
		}
		if err := visit(m, f.Name); err != nil {
			return err
		}
	}
	return nil
}

func readLink(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, 4096))
	return string(b), err
}

func wheelPath(name string) string {
	root, rest, _ := strings.Cut(name, "/")
	if !strings.HasSuffix(root, ".data") {
		return path.Join(sitePackages, name)
	}
	switch scheme, rest, _ := strings.Cut(rest, "/"); scheme {
	case "purelib", "platlib":
		return path.Join(sitePackages, rest)
	case "scripts":
		return path.Join("usr/local/bin", rest)
	case "headers":
		return path.Join("usr/local/include/python3.11", rest)
	default:
		return path.Join("usr/local", rest)
	}
}
