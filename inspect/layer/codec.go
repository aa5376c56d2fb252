package layer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/ccgate/ccgate/inspect/limit"
)

// CodecVersion is the version of the stored form of a layer and of what the walk over
// a layer notes. It is part of the version of what a cache keeps.
const CodecVersion = 3

// storedContent is the first line of the stored form of [Content]; each body has a line of
// its own after it, so that they can be read at the same time.
type storedContent struct {
	Digest      string   `json:"digest"`
	Size        int64    `json:"size"`
	Plain       int64    `json:"plain"`
	Entries     int64    `json:"entries"`
	Files       int      `json:"files"`
	Objects     int      `json:"objects"`
	Notes       []string `json:"notes,omitempty"`
	Compression string   `json:"compression,omitempty"`
	Log         []byte   `json:"log"`
	Bodies      int      `json:"bodies"`
}

// Lasting reports whether the content is the same under other limits: what a limit
// kept from being read may be read the next time.
func (c *Content) Lasting() bool { return !c.limited }

// Encode returns the stored form.
func (c *Content) Encode() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	err := enc.Encode(storedContent{
		Digest: c.Digest, Size: c.Size, Plain: c.plain, Entries: c.tarEntries, Files: c.Files, Objects: c.Objects,
		Notes: c.Notes, Compression: c.compression, Log: c.log, Bodies: len(c.bodies),
	})
	for _, b := range c.bodies {
		err = errors.Join(err, enc.Encode(b))
	}
	return out.Bytes(), err
}

var errStored = errors.New("is not the stored form of this layer")

// Decode reads the stored form of the layer with a digest and a size, and counts it
// against the budget of the image as if it had been read. Errors of the budget are
// a [*limit.Error]; any other means that the layer has to be read.
func Decode(data []byte, digest string, size int64, budget *limit.Budget) (*Content, error) {
	var s storedContent
	first, rest, _ := bytes.Cut(data, []byte{'\n'})
	if err := json.Unmarshal(first, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", errStored, err)
	}
	bodies, err := decodeBodies(rest, s.Bodies)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStored, err)
	}
	c := &Content{
		Digest: s.Digest, Size: s.Size, Files: s.Files, Objects: s.Objects, Notes: s.Notes,
		plain: s.Plain, tarEntries: s.Entries, compression: s.Compression, log: s.Log, bodies: bodies,
	}
	if s.Digest != digest || s.Size != size || min(s.Plain, s.Entries, int64(s.Files), int64(s.Objects)) < 0 {
		return nil, errStored
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c, c.charge(budget)
}

// decodeBodies reads a number of lines, several at once: they are most of the stored form.
func decodeBodies(data []byte, n int) ([]*Body, error) {
	lines := bytes.SplitAfter(data, []byte{'\n'})
	if len(lines) != n+1 || len(lines[n]) > 0 {
		return nil, fmt.Errorf("has %d of %d bodies", len(lines)-1, n)
	}
	bodies := make([]*Body, n)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, line := range lines[:n] {
		group.Go(func() error { return json.Unmarshal(line, &bodies[i]) })
	}
	return bodies, group.Wait()
}

// check reads the whole log, so that nobody else has to look out for damage.
func (c *Content) check() error {
	r := logReader{log: c.log, bodies: c.bodies}
	for len(r.log) > 0 {
		e, err := r.next()
		if err != nil {
			return err
		}
		needsBody := e.action == makeSymlink || e.action == makeHardlink || e.action == refuse
		if needsBody && e.body == nil {
			return errLog
		}
	}
	if len(r.bodies) > 0 {
		return errLog
	}
	for _, b := range c.bodies {
		if b == nil {
			return errLog
		}
	}
	return nil
}

func (c *Content) charge(budget *limit.Budget) error {
	names, code := int64(len(c.log)), int64(0)
	for _, b := range c.bodies {
		names += int64(len(b.Target))
		if b.File != nil {
			code += pieces(b.File.Code)
		}
	}
	return errors.Join(budget.Bytes(c.plain), budget.Entries(c.tarEntries), budget.Names(names), budget.Records(int64(len(c.bodies))), budget.Code(code))
}
