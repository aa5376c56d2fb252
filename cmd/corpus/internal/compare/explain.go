package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ccgate/ccgate/inspect/cubin"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
)

// maxPayload bounds the payloads that an explanation decompresses.
const maxPayload = 256 << 20

// ownTargets lists the listed code of a file again, naming machine code by what
// the cubins say of themselves instead of by their entries. The dumper does so too.
func ownTargets(f *facts.File, r io.ReaderAt) (Count, error) {
	out := Count{}
	var dec fatbin.Decoder
	for _, c := range f.Code.Containers {
		if !inSections(f, c) {
			continue
		}
		b, err := fatbin.NewFile(io.NewSectionReader(r, c.Offset, c.Size), c.Size)
		if err != nil {
			return nil, err
		}
		for i := range b.Containers {
			if err := errors.Join(b.Containers[i].Err, ownEntries(out, b, &dec, b.Containers[i].Entries)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func ownEntries(out Count, b *fatbin.File, dec *fatbin.Decoder, entries []fatbin.Entry) error {
	for i := range entries {
		e := &entries[i]
		switch e.Kind {
		case fatbin.KindPTX, fatbin.KindRelocPTX:
			out[Code{"ptx", e.Target()}]++
		case fatbin.KindCubin, fatbin.KindConcat:
			stored, err := b.Stored(e, maxPayload)
			if err != nil {
				return err
			}
			payload, err := dec.Decode(&e.EntryHeader, stored, maxPayload)
			if err != nil {
				return err
			}
			if e.Kind == fatbin.KindCubin {
				if err := ownCubin(out, payload); err != nil {
					return err
				}
				continue
			}
			for j := range e.Members {
				m := &e.Members[j]
				if m.Kind != fatbin.KindCubin {
					out[Code{"ptx", m.Target()}]++
				} else if err := ownCubin(out, payload[m.BlobOffset:][:m.Size]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func ownCubin(out Count, b []byte) error {
	c, err := cubin.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	target := fmt.Sprintf("sm_%d", c.SM)
	if c.Accelerated {
		target += "a"
	}
	out[Code{"elf", target}]++
	return nil
}
