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
	b := scanFile(opt.Scan, filepath.Base(ref.Path), size, f)
	if b == nil || b.file == nil && len(b.unread) == 0 {
		hint := "file: reads one shared object, program, fatbin, cubin, PTX (named .ptx) or wheel"
		if archiveName(ref.Path) {
			hint = archiveHint(ref.Path)
		}
		return nil, badReference(ref.Text, "is neither ELF nor device code nor a wheel", hint)
	}
	p := &facts.Platform{Totals: facts.Totals{Files: 1}}
	if b.file != nil {
		p.Files, p.Totals.Objects = []facts.File{*b.file}, 1
	}
	for _, reason := range b.unread {
		p.Unread = append(p.Unread, facts.Unread{Path: rooted(filepath.Base(ref.Path)), Layer: facts.NoLayer, Reason: reason})
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
	var c layerContent
	limits := opt.Limits.orDefault()
	if len(z.File) > limits.Entries {
		return nil, &ReadError{Reference: ref.Text, Step: "reading the wheel", Err: fmt.Errorf("%d members, more than the limit of %d", len(z.File), limits.Entries)}
	}
	progress := newProgress(opt.Progress, nil)
	for _, m := range z.File {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.HasSuffix(m.Name, "/") {
			continue // pip unpacks everything else as a regular file, whatever its mode says
		}
		c.files++
		progress.add(int(min(m.CompressedSize64, 1<<30)))
		name, err := cleanName(m.Name)
		if err != nil {
			c.notes = append(c.notes, fmt.Sprintf("member %q is left out: %v", m.Name, err))
			continue
		}
		b := wheelMember(m, name, opt.Scan)
		if b == nil {
			b = &body{} // hides an earlier member of the same name
		}
		if b.file != nil {
			c.objects++
		}
		dir, base := splitName(name)
		c.entries = append(c.entries, entry{dir: dir, base: base, action: place, body: b})
	}
	p := &facts.Platform{Totals: facts.Totals{Files: c.files, Objects: c.objects}, Notes: c.notes}
	var m merge
	m.apply(facts.NoLayer, &c)
	m.collect(p)
	return p, nil
}

// wheelMember reads one member to its end, so that size and checksum are compared before
// its facts count. Of a large member that is of no interest the start is enough.
func wheelMember(m *zip.File, name string, scan Scanner) *body {
	const encrypted, small = 1, 4 << 10
	switch {
	case m.Flags&encrypted != 0:
		return &body{unread: []string{"encrypted member"}}
	case m.UncompressedSize64 > 1<<50:
		return &body{unread: []string{fmt.Sprintf("impossible size %d", m.UncompressedSize64)}}
	}
	size := int64(m.UncompressedSize64)
	member, err := m.Open()
	if err != nil {
		return &body{unread: []string{"opening the member: " + err.Error()}}
	}
	defer member.Close()
	r := &fileReader{r: member, ahead: func(int64) bool { return false }}
	b := scanFile(scan, name, size, io.LimitReader(r, size))
	if r.err == nil && (size <= small || b != nil && b.file != nil) {
		_, _ = io.Copy(io.Discard, r) // r keeps the error
	}
	if r.err != nil {
		return &body{unread: []string{"reading the member: " + r.err.Error()}}
	}
	return b
}
