package layer

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/limit"
)

// walkTar reads a tar once, to the end of the stream.
func walkTar(r io.Reader, stored func() int64, opt Options) (*Content, error) {
	w := &walk{budget: opt.Budget, scan: opt.Scan, content: &Content{}}
	w.counted = &Counted{r: r, stored: stored, budget: opt.Budget}
	w.tar = tar.NewReader(w.counted)
	end := int64(0)
	for {
		h, err := w.tar.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("tar, entry %d: %w", w.entries+1, err)
		}
		end = EntryEnd(h, w.counted.n)
		w.entries++
		if err := w.entry(h); err != nil {
			return nil, err
		}
	}
	if end > 0 && w.counted.n <= end {
		w.content.Notes = append(w.content.Notes, "is a tar without an end marker")
	}
	if _, err := io.Copy(io.Discard, w.counted); err != nil {
		return nil, err
	}
	w.content.plain, w.content.tarEntries = w.counted.n, int64(w.entries)
	return w.content, nil
}

// EntryEnd is where a tar entry ends whose content starts at offset, or -1
// where its stored size is not known.
func EntryEnd(h *tar.Header, offset int64) int64 {
	if IsSparse(h) || h.Typeflag == tar.TypeXGlobalHeader {
		return -1
	}
	switch h.Typeflag {
	case tar.TypeLink, tar.TypeSymlink, tar.TypeChar, tar.TypeBlock, tar.TypeDir, tar.TypeFifo:
		return offset
	}
	return offset + (h.Size+511)&^511
}

// IsSparse says whether the stored bytes of an entry are not its content.
func IsSparse(h *tar.Header) bool {
	return h.Typeflag == tar.TypeGNUSparse || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != ""
}

// walk is the state of one walk over a layer.
type walk struct {
	tar     *tar.Reader
	counted *Counted
	scan    Scanner
	budget  *limit.Budget
	content *Content
	entries int
}

func (w *walk) entry(h *tar.Header) error {
	if err := w.budget.Entries(1); err != nil {
		return err
	}
	name, err := CleanName(h.Name)
	if err == nil {
		err = w.budget.Depth(strings.Count(name, "/") + 1)
		w.content.limited = w.content.limited || err != nil
	}
	if err != nil {
		return w.add(h.Name[:min(len(h.Name), maxName)], refuse, &Body{Unread: []string{err.Error()}})
	}
	dir, base := SplitName(name)
	a := actionOf(h, name, base)
	var b *Body
	switch a {
	case ignoredEntry:
		return nil
	case makeSymlink:
		b = &Body{Target: strings.Clone(h.Linkname)}
		if len(h.Linkname) > maxName {
			a, b = place, &Body{Unread: []string{"link target: " + errNameLong.Error()}}
		}
	case makeHardlink:
		target, err := CleanName(h.Linkname)
		b = &Body{Target: strings.Clone(target)}
		if err != nil {
			a, b = place, &Body{Unread: []string{"hard link target: " + err.Error()}}
		}
	case removeLower:
		if name = base[len(whiteoutPrefix):]; dir != "" {
			name = dir + "/" + name
		}
	case place:
		if b, err = w.file(h, name); err != nil {
			return fmt.Errorf("%q: %w", Rooted(name), err)
		}
	}
	return w.add(name, a, b)
}

func (w *walk) add(name string, a action, b *Body) error {
	n := w.content.add(name, a, b)
	if b != nil {
		if err := w.budget.Records(1); err != nil {
			return err
		}
		n += int64(len(b.Target))
	}
	return w.budget.Names(n)
}

// file hands a regular file to the scanner. It returns nil for a file of no
// interest, and an error where the layer itself cannot be read on.
func (w *walk) file(h *tar.Header, name string) (*Body, error) {
	if !isRegular(h.Typeflag) {
		if reason := unknownType(h.Typeflag); reason != "" {
			return &Body{Unread: []string{reason}}, nil
		}
		return nil, nil
	}
	w.content.Files++
	start, holes := w.counted.n, int64(0)
	r := &FileReader{R: w.tar, Passed: func(n int64) error {
		// A sparse file can present far more bytes than are stored.
		more := max(0, n-(w.counted.n-start)) - holes
		holes += max(0, more)
		return w.budget.Holes(max(0, more))
	}}
	b := w.scan.File(name, h.Size, r)
	var over *limit.Error
	switch {
	case errors.As(r.Err, &over) && over.Name == limit.HolesName:
		if b == nil {
			b = &Body{}
		}
		w.content.limited = true
		b.Unread = append(b.Unread, fmt.Sprintf("is a sparse file of %d bytes: the image %v", h.Size, over))
	case r.Err != nil:
		return nil, r.Err
	}
	if b == nil || b.File == nil {
		return b, nil
	}
	w.content.Objects++
	return b, w.budget.Code(pieces(b.File.Code))
}

// pieces counts pieces of device code.
func pieces(c *facts.Code) (n int64) {
	if c == nil {
		return 0
	}
	for i := range c.Containers {
		n += 1 + int64(len(c.Containers[i].Entries))
	}
	return n + int64(len(c.Loose))
}
