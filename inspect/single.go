package inspect

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// readSingle reads one file: ELF, fatbin, cubin, PTX, or a wheel, whose members
// are read like the files of an image. There is no file system around it.
func readSingle(ctx context.Context, ref Reference, opt Options) (*facts.Image, error) {
	if err := checkFilter(ref, opt.Platforms); err != nil {
		return nil, err
	}
	info, err := os.Stat(ref.Path)
	switch {
	case err != nil:
		return nil, &ReadError{Reference: ref.Text, Step: "opening the file", Err: pathless(err)}
	case info.IsDir():
		return nil, badReference(ref.Text, "is a directory", "write dir:"+ref.Path+" for a root file system")
	case !info.Mode().IsRegular():
		return nil, badReference(ref.Text, "is not a regular file", "")
	}
	f, err := os.Open(ref.Path)
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "opening the file", Err: pathless(err)}
	}
	defer f.Close()
	out := &facts.Image{Schema: facts.Schema, Reference: ref.Text, Source: facts.SourceFile}
	var p *facts.Platform
	if isZip(f) {
		out.Source = facts.SourceWheel
		p, err = readWheel(ctx, ref, f, info.Size(), opt)
	} else {
		p, err = readObject(ref, f, info.Size(), opt)
	}
	if err != nil {
		return nil, err
	}
	if p.Name, err = rootfsPlatform(ref, p.Files, opt.Platforms); err != nil {
		return nil, err
	}
	p.Totals.Bytes = info.Size()
	out.Platforms = []facts.Platform{*p}
	return out, nil
}

// pathless leaves the path out of an error, because the reference carries it.
func pathless(err error) error { return fmt.Errorf("%s", reasonOf(err)) }

func isZip(r io.ReaderAt) bool {
	var magic [4]byte
	_, err := r.ReadAt(magic[:], 0)
	return err == nil && bytes.Equal(magic[:], []byte("PK\x03\x04"))
}

func readObject(ref Reference, f *os.File, size int64, opt Options) (*facts.Platform, error) {
	b := opt.Scan.File(filepath.Base(ref.Path), size, f)
	if b == nil || b.File == nil && len(b.Unread) == 0 {
		hint := "file: reads one shared object, program, fatbin, cubin, PTX (named .ptx) or wheel"
		if archiveName(ref.Path) {
			hint = archiveHint(ref.Path)
		}
		return nil, badReference(ref.Text, "is neither ELF nor device code nor a wheel", hint)
	}
	p := &facts.Platform{Totals: facts.Totals{Files: 1}}
	if b.File != nil {
		p.Files, p.Totals.Objects = []facts.File{*b.File}, 1
	}
	for _, reason := range b.Unread {
		p.Unread = append(p.Unread, facts.Unread{Path: layer.Rooted(filepath.Base(ref.Path)), Layer: facts.NoLayer, Reason: reason})
	}
	return p, nil
}

// readWheel reads the members of a zip archive. Of members with the same name
// the last wins, as when pip unpacks them.
func readWheel(ctx context.Context, ref Reference, f *os.File, size int64, opt Options) (*facts.Platform, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "reading the wheel", Err: err}
	}
	// Inflating is most of the work, and this decoder is faster than the default.
	z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	var c layer.Content
	limits := opt.Limits.OrDefault()
	if int64(len(z.File)) > limits.Entries {
		return nil, &ReadError{Reference: ref.Text, Step: "reading the wheel", Err: &limit.Error{Name: "max-entries", Max: limits.Entries, What: "members"}}
	}
	progress := newProgress(opt.Progress, nil)
	for _, m := range z.File {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.HasSuffix(m.Name, "/") {
			continue // pip unpacks everything else as a regular file, whatever its mode says
		}
		c.Files++
		progress.add(int(min(m.CompressedSize64, 1<<30)))
		name, err := layer.CleanName(m.Name)
		if err != nil {
			c.Notes = append(c.Notes, fmt.Sprintf("member %q is left out: %v", m.Name, err))
			continue
		}
		b := wheelMember(m, name, opt.Scan)
		if b == nil {
			b = &layer.Body{} // hides an earlier member of the same name
		}
		c.Place(name, b)
	}
	p := &facts.Platform{Totals: facts.Totals{Files: c.Files, Objects: c.Objects}, Notes: c.Notes}
	var m layer.Merge
	m.Apply(facts.NoLayer, &c)
	m.Collect(p)
	return p, nil
}

// wheelMember reads one member to its end, so that size and checksum are compared before
// its facts count. Of a large member that is of no interest the start is enough.
func wheelMember(m *zip.File, name string, scan layer.Scanner) *layer.Body {
	const encrypted, small = 1, 4 << 10
	switch {
	case m.Flags&encrypted != 0:
		return &layer.Body{Unread: []string{"encrypted member"}}
	case m.UncompressedSize64 > 1<<50:
		return &layer.Body{Unread: []string{fmt.Sprintf("impossible size %d", m.UncompressedSize64)}}
	}
	size := int64(m.UncompressedSize64)
	member, err := m.Open()
	if err != nil {
		return &layer.Body{Unread: []string{"opening the member: " + err.Error()}}
	}
	defer member.Close()
	r := &layer.FileReader{R: member}
	b := scan.File(name, size, io.LimitReader(r, size))
	if r.Err == nil && (size <= small || b != nil && b.File != nil) {
		_, _ = io.Copy(io.Discard, r) // r keeps the error
	}
	if r.Err != nil {
		return &layer.Body{Unread: []string{"reading the member: " + r.Err.Error()}}
	}
	return b
}
