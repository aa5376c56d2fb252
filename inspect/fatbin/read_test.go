package fatbin_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// read reads b with random access and as a stream, and requires the same of both.
func read(t *testing.T, b []byte) ([]fatbin.Container, error) {
	t.Helper()
	f, err := fatbin.NewFile(bytes.NewReader(b), int64(len(b)))
	containers, streamErr := readStream(b)
	require.Equal(t, containers, f.Containers)
	require.Equal(t, streamErr, err)
	return containers, err
}

// readStream does what [fatbin.NewFile] says of itself, with a [fatbin.Reader].
func readStream(b []byte) ([]fatbin.Container, error) {
	src := bufio.NewReaderSize(struct{ io.Reader }{bytes.NewReader(b)}, 1<<17)
	rd := fatbin.NewReader(src, 0, int64(len(b)))
	var containers []fatbin.Container
	for {
		c, err := rd.NextContainer()
		if errors.Is(err, io.EOF) {
			return containers, nil
		}
		if err != nil {
			return containers, err
		}
		for err == nil {
			var e *fatbin.Entry
			if e, err = rd.NextEntry(); err == nil {
				c.Entries = append(c.Entries, *e)
			}
		}
		if !errors.Is(err, io.EOF) {
			c.Err = err
		}
		containers = append(containers, *c)
		if c.Err != nil {
			return containers, nil
		}
	}
}

func readOne(t *testing.T, e fatbintest.Entry) fatbin.Entry {
	t.Helper()
	c, err := read(t, fatbintest.Container(e))
	require.NoError(t, err)
	require.Len(t, c, 1)
	require.NoError(t, c[0].Err)
	require.Len(t, c[0].Entries, 1)
	return c[0].Entries[0]
}

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		kind         fatbin.Kind
		name, target string
	}{
		{0x01, "ptx", "compute_80"},
		{0x02, "cubin", "sm_80"},
		{0x04, "old-cubin", "sm_80"},
		{0x08, "lto-ir", "lto_80"},
		{0x10, "mercury", "sm_80"},
		{0x20, "index", "sm_80"},
		{0x40, "reloc-ptx", "compute_80"},
		{0x80, "tile-ir", "sm_80"},
		{0x100, "concat", "sm_80"},
		{0x200, "unknown-0x200", "sm_80"},
		{0, "unknown-0x0", "sm_80"},
		{3, "unknown-0x3", "sm_80"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := fatbintest.Entry{Kind: tt.kind, SM: 80, Payload: []byte("payload")}
			if tt.kind == fatbin.KindConcat {
				in.Codec, in.Members = fatbin.CodecZstd, []fatbintest.Entry{fatbintest.SASS("sm_80")}
			}
			e := readOne(t, in)
			require.Equal(t, tt.name, e.Kind.String())
			require.Equal(t, tt.target, e.Target())
		})
	}
}

func TestFlags(t *testing.T) {
	const linux64 = fatbin.Flag64Bit | fatbin.FlagLinux
	for _, tt := range []struct {
		name            string
		flags           fatbin.Flags
		target, foreign string
		codec           fatbin.Codec
		obfuscated      bool
	}{
		{"plain", 0x11, "sm_90", "", fatbin.CodecNone, false},
		{"lz4", 0x2011, "sm_90", "", fatbin.CodecLZ4, false},
		{"zstd", 0x8011, "sm_90", "", fatbin.CodecZstd, false},
		{"legacy codec", 0x1011, "sm_90", "", fatbin.CodecOld, false},
		{"arch-specific", 0x100011, "sm_90a", "", fatbin.CodecNone, false},
		{"family-specific", 0x1200011, "sm_90f", "", fatbin.CodecNone, false},
		{"zstd arch-specific", 0x1108011, "sm_90a", "", fatbin.CodecZstd, false},
		{"obfuscated", 0x10011, "sm_90", "", fatbin.CodecNone, true},
		{"debug", linux64 | fatbin.FlagDebug, "sm_90", "", fatbin.CodecNone, false},
		{"windows", 0x41, "sm_90", "windows", fatbin.CodecNone, false},
		{"mac", 0x21, "sm_90", "mac", fatbin.CodecNone, false},
		{"32-bit", 0x10, "sm_90", "32-bit", fatbin.CodecNone, false},
		{"unknown bit", linux64 | 1<<40, "sm_90", "", fatbin.CodecNone, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := readOne(t, fatbintest.Entry{Kind: fatbin.KindCubin, SM: 90, Flags: tt.flags, Payload: []byte("x")})
			require.Equal(t, tt.flags, e.Flags)
			require.Equal(t, tt.target, e.Target())
			require.Equal(t, tt.foreign, e.Foreign())
			require.Equal(t, tt.codec, e.Codec())
			require.Equal(t, tt.obfuscated, e.Obfuscated())
		})
	}
	e := readOne(t, fatbintest.Entry{Kind: fatbin.KindPTX, Key: 12345})
	require.True(t, e.Obfuscated(), "a key means obfuscation even without the flag")
}

func TestHeaderFields(t *testing.T) {
	text := fatbintest.PTXText("sm_90a", "8.4")
	in := fatbintest.PTX("compute_90a", "8.4").Compressed(fatbin.CodecLZ4)
	in.Options, in.Ident = "-O1 -maxrregcount=32 ", "kernel.cu"
	c, err := read(t, fatbintest.Fatbin([]fatbintest.Entry{fatbintest.SASS("sm_80")}, []fatbintest.Entry{fatbintest.SASS("sm_86"), in}))
	require.NoError(t, err)
	require.Len(t, c, 2)
	require.Equal(t, c[0].Offset+16+int64(c[0].Size), c[1].Offset)
	e := c[1].Entries[1]
	require.Equal(t, "compute_90a", e.Target())
	require.Equal(t, [2]uint16{8, 4}, [2]uint16{e.CodeMajor, e.CodeMinor})
	require.Equal(t, "-O1 -maxrregcount=32 ", e.Options)
	require.Equal(t, "kernel.cu", e.Ident)
	require.EqualValues(t, len(text), e.UncompressedSize)
	require.EqualValues(t, e.CompressedSize, e.StoredSize())
	require.EqualValues(t, 0x101, e.Version)
	require.Equal(t, c[1].Offset+16+int64(c[1].Entries[0].HeaderSize)+int64(c[1].Entries[0].Size), e.Offset)
}

// The driver's copy of .nv.compat stands where options stand, and is none.
func TestCompatAttributesAreNotOptions(t *testing.T) {
	in := fatbintest.SASS("sm_120a")
	in.Compat = bytes.Repeat([]byte{2, 9, 1, 0}, 9)
	e := readOne(t, in)
	require.NotZero(t, e.Flags&fatbin.FlagCompat)
	require.Empty(t, e.Options)
}

func TestStringsThatLeaveTheHeaderAreDropped(t *testing.T) {
	for name, edit := range map[string]func(b []byte){
		"descriptor past the header": func(b []byte) { put32(b, 0x14, 1<<20) },
		"descriptor at 2^32-4":       func(b []byte) { put32(b, 0x14, 1<<32-4) },
		"descriptor in the header":   func(b []byte) { put32(b, 0x14, 8) },
		"string past the header":     func(b []byte) { put32(b, int(get32(b, 0x14)), 1<<20) },
		"string of 4 GiB":            func(b []byte) { put32(b, int(get32(b, 0x14))+4, 1<<32-1) },
	} {
		t.Run(name, func(t *testing.T) {
			in := fatbintest.PTX("compute_80", "8.4")
			in.Options, in.Edit = "-O1", edit
			require.Empty(t, readOne(t, in).Options)
		})
	}
	in := fatbintest.PTX("compute_80", "8.4")
	in.Ident, in.Edit = "k.cu", func(b []byte) { put32(b, 0x24, 1<<32-1) }
	require.Empty(t, readOne(t, in).Ident)
}

func TestPaddingBetweenContainers(t *testing.T) {
	one := fatbintest.Container(fatbintest.SASS("sm_80"))
	for name, b := range map[string][]byte{
		"none":             append(bytes.Clone(one), one...),
		"8 bytes":          append(append(bytes.Clone(one), make([]byte, 8)...), one...),
		"4096 bytes":       append(append(bytes.Clone(one), make([]byte, 4096)...), one...),
		"zeros at the end": append(append(bytes.Clone(one), one...), make([]byte, 100)...),
		"3 bytes at end":   append(append(bytes.Clone(one), one...), make([]byte, 3)...),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := read(t, b)
			require.NoError(t, err)
			require.Len(t, c, 2)
		})
	}
	c, err := read(t, append(append(bytes.Clone(one), "something else"...), one...))
	requireDamage(t, err, int64(len(one)), "between containers")
	require.Len(t, c, 1, "what came before the damage counts")
}

func TestNotFatbin(t *testing.T) {
	for name, in := range map[string]string{
		"empty": "", "one byte": "P", "text": "#!/bin/sh\nexit 0\n", "short text": "abc", "ELF": "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"wrapper": "\xb1\x43\x62\x46\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "zeros": string(make([]byte, 64)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fatbin.NewFile(bytes.NewReader([]byte(in)), int64(len(in)))
			require.ErrorIs(t, err, fatbin.ErrNotFatbin)
		})
	}
}

func TestStored(t *testing.T) {
	e := fatbintest.SASS("sm_80").Compressed(fatbin.CodecZstd)
	b := fatbintest.Container(e)
	f, err := fatbin.NewFile(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	got := &f.Containers[0].Entries[0]
	stored, err := f.Stored(got, 1<<20)
	require.NoError(t, err)
	require.Equal(t, fatbintest.Compress(fatbin.CodecZstd, e.Payload), stored)
	_, err = f.Stored(got, got.StoredSize()-1)
	require.ErrorContains(t, err, "more than the")
}

// A file that became shorter than its size must not be read as zeros.
func TestStoredOfAFileThatEndsEarly(t *testing.T) {
	b := fatbintest.Container(fatbintest.SASS("sm_80"))
	f, err := fatbin.NewFile(bytes.NewReader(b[:100]), int64(len(b)))
	require.NoError(t, err)
	require.ErrorContains(t, f.Containers[0].Err, "input ends inside the payload")
	_, err = f.Stored(&f.Containers[0].Entries[0], 1<<20)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestReaderPayload(t *testing.T) {
	first, second := fatbintest.SASS("sm_80"), fatbintest.PTX("compute_80", "8.4").Compressed(fatbin.CodecZstd)
	b := append([]byte("prefix"), fatbintest.Container(first, second)...)
	src := bufio.NewReaderSize(bytes.NewReader(b), 1<<17)
	_, err := src.Discard(6)
	require.NoError(t, err)
	rd := fatbin.NewReader(src, 6, int64(len(b)))
	c, err := rd.NextContainer()
	require.NoError(t, err)
	require.EqualValues(t, 6, c.Offset, "offsets are those of the whole file")
	_, err = rd.NextEntry()
	require.NoError(t, err)
	got, err := rd.Payload(10)
	require.NoError(t, err)
	require.Equal(t, first.Payload[:10], got, "a part of the payload")
	_, err = rd.NextEntry()
	require.NoError(t, err)
	got, err = rd.Payload(1 << 16)
	require.NoError(t, err)
	require.Equal(t, fatbintest.Compress(fatbin.CodecZstd, second.Payload), got, "without padding")
	_, err = rd.NextEntry()
	require.ErrorIs(t, err, io.EOF)
	_, err = rd.NextContainer()
	require.ErrorIs(t, err, io.EOF)
	require.EqualValues(t, len(b), rd.Offset())
}
