package inspect

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/ccgate/ccgate/inspect/layer"
)

// maxMembers is the number of members of an archive that are indexed.
const maxMembers = 1 << 17

// maxMemberLinks is the number of links between members that are followed.
const maxMemberLinks = 8

// member is where the content of one member of an archive lies in its file.
type member struct {
	offset, size int64
	link         string // of a symbolic or hard link, cleaned
	reason       string // why the content cannot be read, or empty
}

// archive is a tar file as files. It is scanned once for the positions of its
// members, which are then read in place.
type archive struct {
	file    *os.File
	members map[string]member
}

func openArchive(ctx context.Context, ref Reference, opt Options) (*Source, error) {
	if info, err := os.Stat(ref.Path); err == nil && info.IsDir() {
		return nil, badReference(ref.Text, "is a directory", "write oci:"+ref.Path+" for an OCI layout or dir:"+ref.Path+" for a root file system")
	}
	a, err := scanArchive(ref.Path)
	if errors.Is(err, errCompressed) {
		return openCompressed(ctx, ref, opt)
	}
	if errors.Is(err, errNoTar) {
		return nil, badReference(ref.Text, "is not a tar archive", "docker save and podman save write one")
	}
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "indexing the archive", Err: err}
	}
	_, hasIndex := a.members[layoutIndex]
	_, hasManifest := a.members[dockerManifest]
	switch {
	case hasIndex:
		return resolveLayout(ctx, ref, a, opt)
	case hasManifest && ref.Kind == KindDockerArchive:
		return resolveDocker(ctx, ref, a, opt)
	}
	a.Close()
	if hasManifest {
		return nil, badReference(ref.Text, "is the output of docker save without an OCI layout", "write docker-archive:"+ref.Path)
	}
	return nil, badReference(ref.Text, "is neither the output of docker save nor an OCI layout", "a root file system is written dir:PATH after unpacking it")
}

// errCompressed says that an archive is compressed as a whole. Its members
// cannot be addressed, so it is read as a stream.
var errCompressed = errors.New("is compressed")

// openCompressed reads an archive file front to back.
func openCompressed(ctx context.Context, ref Reference, opt Options) (*Source, error) {
	f, err := os.Open(ref.Path)
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "opening the archive", Err: pathless(err)}
	}
	defer f.Close()
	return openStream(ctx, ref, f, opt)
}

// errNoTar says that a file does not even begin like a tar.
var errNoTar = errors.New("is not a tar archive")

func scanArchive(name string) (*archive, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	a := &archive{file: f, members: make(map[string]member)}
	if err := a.scan(); err != nil {
		f.Close()
		return nil, err
	}
	return a, nil
}

// scan notes the position of every member.
func (a *archive) scan() error {
	if err := a.refuseCompressed(); err != nil {
		return err
	}
	position := func() (int64, error) { return a.file.Seek(0, io.SeekCurrent) }
	return walkMembers(a.file, position, func(name string, h *tar.Header, offset int64, _ io.Reader) error {
		a.members[name] = newMember(h, name, offset)
		return nil
	})
}

// walkMembers visits the members of an archive whose names can be referred to.
// archive/tar reads exactly up to the content of a member, so the position in
// the archive is the offset of that. Without the blocks that end a tar an
// archive is cut off, and what it lost would otherwise pass for content that
// was never there.
func walkMembers(r io.Reader, position func() (int64, error), visit func(name string, h *tar.Header, offset int64, content io.Reader) error) error {
	tr := tar.NewReader(r)
	var end int64 // of the member before
	for n := 0; ; n++ {
		h, err := tr.Next()
		last := errors.Is(err, io.EOF)
		switch {
		case last:
		case n == 0 && errors.Is(err, tar.ErrHeader):
			return errNoTar
		case err != nil:
			return fmt.Errorf("member %d: %w", n, err)
		case n >= maxMembers:
			return fmt.Errorf("has more than %d members", maxMembers)
		}
		offset, err := position()
		switch {
		case err != nil:
			return err
		case last && offset <= end: // less where the padding is cut, too
			return fmt.Errorf("ends without an end marker: %w", io.ErrUnexpectedEOF)
		case last:
			return nil
		}
		end = layer.EntryEnd(h, offset)
		name, err := layer.CleanName(h.Name)
		if err != nil {
			continue
		}
		if err := visit(name, h, offset, tr); err != nil {
			return err
		}
	}
}

// linkTarget is the member that a link leads to, or "" for what is no link.
func linkTarget(h *tar.Header, name string) string {
	switch h.Typeflag {
	case tar.TypeSymlink:
		return path.Join(path.Dir(name), h.Linkname)
	case tar.TypeLink:
		return path.Clean(h.Linkname)
	}
	return ""
}

func newMember(h *tar.Header, name string, offset int64) member {
	m := member{offset: offset, size: h.Size, link: linkTarget(h, name)}
	switch {
	case m.link != "":
	case layer.IsSparse(h):
		m.reason = "is stored as a sparse file"
	case h.Typeflag != tar.TypeReg:
		m.reason = "is not a regular file"
	}
	return m
}

func (a *archive) refuseCompressed() error {
	compressed, err := layer.IsCompressed(a.file)
	if err == nil && compressed {
		err = errCompressed
	}
	return err
}

// open implements files.
func (a *archive) open(name string) (io.ReadCloser, error) {
	m, err := a.find(name)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(io.NewSectionReader(a.file, m.offset, m.size)), nil
}

// size implements members.
func (a *archive) size(name string) (int64, error) {
	m, err := a.find(name)
	return m.size, err
}

// find returns a member that has content. Links between members are followed:
// older versions of docker save store a layer once and link it elsewhere.
func (a *archive) find(name string) (member, error) {
	at := name
	for range maxMemberLinks {
		m, ok := a.members[at]
		switch {
		case !ok:
			return member{}, fmt.Errorf("%q: %w", name, fs.ErrNotExist)
		case m.link != "":
			at = m.link
			continue
		case m.reason != "":
			return member{}, fmt.Errorf("%q %s", name, m.reason)
		}
		return m, nil
	}
	return member{}, fmt.Errorf("%q passes more than %d links", name, maxMemberLinks)
}

// Close implements io.Closer.
func (a *archive) Close() error { return a.file.Close() }
