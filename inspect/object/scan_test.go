package object_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
	"github.com/ccgate/ccgate/inspect/object"
)

// scan reads b with random access and as streams that give much or little at
// a time, and requires the same of all.
func scan(t *testing.T, name string, b []byte) (facts.File, []string, bool) {
	t.Helper()
	size := int64(len(b))
	f, unread, ok := object.Scan(name, size, bytes.NewReader(b))
	for how, r := range map[string]io.Reader{
		"stream": struct{ io.Reader }{bytes.NewReader(b)}, "slow stream": iotest.HalfReader(struct{ io.Reader }{io.LimitReader(bytes.NewReader(b), size)}),
		"stream of small blocks": &trickle{b: b},
	} {
		sf, sUnread, sOK := object.Scan(name, size, r)
		require.Equal(t, f, sf, how)
		require.Equal(t, unread, sUnread, how)
		require.Equal(t, ok, sOK, how)
	}
	return f, unread, ok
}

// trickle gives one byte, then two, then four, and so on up to 32 KiB, as a decompressor may.
type trickle struct {
	b []byte
	n int
}

func (t *trickle) Read(p []byte) (int, error) {
	if len(t.b) == 0 {
		return 0, io.EOF
	}
	t.n = min(max(2*t.n, 1), 32<<10)
	n := copy(p[:min(len(p), t.n)], t.b)
	t.b = t.b[n:]
	return n, nil
}

// complete scans b and requires that nothing was left unread.
func complete(t *testing.T, name string, b []byte) facts.File {
	t.Helper()
	f, unread, ok := scan(t, name, b)
	require.True(t, ok)
	require.Empty(t, unread)
	require.Empty(t, f.Damage)
	return f
}

// targets lists what a file holds: kind, target and what keeps it from counting.
func targets(f facts.File) []string {
	var all []string
	if f.Code == nil {
		return all
	}
	add := func(section string, e facts.Entry) {
		s := section + " " + string(e.Kind) + " " + e.Target
		for mark, on := range map[string]bool{" relocatable": e.Relocatable, " empty": e.Empty, " opaque": e.Opaque != ""} {
			if on {
				s += mark
			}
		}
		all = append(all, strings.TrimSpace(s))
	}
	for _, c := range f.Code.Containers {
		for _, e := range c.Entries {
			add(c.Section, e)
		}
	}
	for _, e := range f.Code.Loose {
		add(e.Section, e)
	}
	return all
}

var (
	sm80  = fatbintest.SASS("sm_80")
	ptx80 = fatbintest.PTX("compute_80", "8.4")
	zstd  = fatbin.CodecZstd
)

// library returns a shared object with code for sm_80.
func library() fatbintest.SharedObject {
	return fatbintest.SharedObject{
		Soname: "libk.so.1", Needed: []string{"libcudart.so.12"}, Runpath: "$ORIGIN", Text: []byte{0xc3}, Data: []byte("data"),
		VersionNeeds: []fatbintest.VersionNeed{{Library: "libcudart.so.12", Versions: []string{"libcudart.so.12"}}},
		Containers:   [][]fatbintest.Entry{{sm80, ptx80}},
	}
}

func TestSharedObject(t *testing.T) {
	o := library()
	o.Interp, o.VersionDefs, o.RPath = "/lib64/ld-linux-x86-64.so.2", []string{"K_1"}, "/a:/b"
	o.Containers = append(o.Containers, []fatbintest.Entry{fatbintest.SASS("sm_90a").Compressed(zstd), fatbintest.SASS("sm_120f")})
	f := complete(t, "usr/lib/libk.so.1", o.Bytes())
	require.Equal(t, &facts.ELF{
		Class: 64, Machine: "x86_64", Type: "dyn", Soname: "libk.so.1", Needed: []string{"libcudart.so.12"}, RPath: []string{"/a", "/b"}, RunPath: []string{"$ORIGIN"},
		Interp: "/lib64/ld-linux-x86-64.so.2", VersionNeeds: []facts.VersionNeed{{Library: "libcudart.so.12", Versions: []string{"libcudart.so.12"}}}, VersionDefs: []string{"K_1"},
	}, f.ELF)
	require.Equal(t, []string{".nv_fatbin cubin sm_80", ".nv_fatbin ptx compute_80", ".nv_fatbin cubin sm_90a", ".nv_fatbin cubin sm_120f"}, targets(f))
	require.Equal(t, "13.0", f.Code.Toolkit)
	require.Equal(t, facts.NoLayer, f.Layer)
	e := f.Code.Containers[0].Entries
	require.Equal(t, "12.4", e[0].Toolkit)
	require.Equal(t, "8.4", e[1].ISA)
	require.Equal(t, "zstd", f.Code.Containers[1].Entries[0].Codec)
}

func TestHostsOfEveryShape(t *testing.T) {
	want := []string{".nv_fatbin cubin sm_80", ".nv_fatbin ptx compute_80"}
	for name, edit := range map[string]func(o *fatbintest.SharedObject){
		"32-bit":              func(o *fatbintest.SharedObject) { o.Class32 = true },
		"big-endian":          func(o *fatbintest.SharedObject) { o.BigEndian, o.Machine = true, 21 },
		"object file":         func(o *fatbintest.SharedObject) { o.Type = 1 },
		"program":             func(o *fatbintest.SharedObject) { o.Type = 2 },
		"patched":             func(o *fatbintest.SharedObject) { o.Moved = true },
		"patched, far apart":  func(o *fatbintest.SharedObject) { o.Moved, o.Gap = true, 3<<20 },
		"patched, near":       func(o *fatbintest.SharedObject) { o.Moved, o.Gap = true, 300<<10 },
		"tables beyond 32 MB": func(o *fatbintest.SharedObject) { o.Moved, o.Gap = true, 40<<20 },
		"code before tables":  func(o *fatbintest.SharedObject) { o.Data = make([]byte, 40<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			o := library()
			edit(&o)
			f := complete(t, "k", o.Bytes())
			require.Equal(t, want, targets(f))
			if o.Type != 1 {
				require.Equal(t, "libk.so.1", f.ELF.Soname)
				require.Len(t, f.ELF.VersionNeeds, 1)
			}
		})
	}
}

// The string table may stand in the block of the stream that the dynamic section stands in,
// and yet be far from it, and from the section table.
func TestPatchedHostsInOneBlock(t *testing.T) {
	for before := 1 << 20; before < 3<<20; before += 300 << 10 {
		o := library()
		o.Moved, o.Data, o.Gap, o.Comment = true, make([]byte, before), 200<<10, make([]byte, 200<<10)
		require.Equal(t, "libk.so.1", complete(t, "k", o.Bytes()).ELF.Soname, before)
	}
}

// lld places the names of sections before those of symbols, and the table behind both.
func TestSectionNamesFarBeforeTheirTable(t *testing.T) {
	o := library()
	o.Data = append(make([]byte, 2<<20), sm80.Payload...) // it has names of sections, too
	o.Gap, o.Strtab = 200<<10, make([]byte, 3<<20)
	require.Equal(t, []string{".nv_fatbin cubin sm_80", ".nv_fatbin ptx compute_80", ".rodata cubin sm_80"}, targets(complete(t, "k", o.Bytes())))
}

// Without section names the code is still found, where it is loaded.
func TestHostsWithoutSections(t *testing.T) {
	o := library()
	o.Stripped = true
	f := complete(t, "k", o.Bytes())
	require.Equal(t, []string{"cubin sm_80", "ptx compute_80"}, targets(f))
	require.Equal(t, "libk.so.1", f.ELF.Soname)
}

func TestHostsWithoutCode(t *testing.T) {
	o := library()
	o.Containers = nil
	f := complete(t, "k", o.Bytes())
	require.Nil(t, f.Code)
	require.Nil(t, f.Runtime)
	require.Equal(t, "libk.so.1", f.ELF.Soname)
}

func TestFilesOfNoInterest(t *testing.T) {
	for name, s := range map[string]string{
		"empty": "", "script.sh": "#!/bin/sh\n", "a.txt": ".version 8.4\n.target sm_80\n", "P": "P", "scan.ptx": "1024\n768\n0.1 0.2 0.3\n", "photo.ptx": "MM\x00*\x00\x00",
	} {
		_, unread, ok := scan(t, name, []byte(s))
		require.False(t, ok, name)
		require.Empty(t, unread, name)
	}
}

func TestFilesOfDeviceCode(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    []byte
		kind facts.Kind
		want []string
	}{
		{"k.fatbin", fatbintest.Container(sm80, ptx80), facts.KindFatbin, []string{"cubin sm_80", "ptx compute_80"}},
		{"any name", fatbintest.Fatbin([]fatbintest.Entry{sm80}, []fatbintest.Entry{ptx80}), facts.KindFatbin, []string{"cubin sm_80", "ptx compute_80"}},
		{"k.cubin", sm80.Payload, facts.KindCubin, []string{"cubin sm_80"}},
		{"k90a.cubin", fatbintest.SASS("sm_90a").Payload, facts.KindCubin, []string{"cubin sm_90a"}},
		{"k120a.cubin", fatbintest.SASS("sm_120a").Payload, facts.KindCubin, []string{"cubin sm_120a"}},
		{"k100f.cubin", fatbintest.SASS("sm_100f").Payload, facts.KindCubin, []string{"cubin sm_100f"}},
		{"k.ptx", fatbintest.PTXText("sm_90a", "8.4"), facts.KindPTX, []string{"ptx compute_90a"}},
		{"rel.cubin", fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124, Relocatable: true}.Bytes(), facts.KindCubin, []string{"cubin sm_80 relocatable"}},
		{"stub.cubin", fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124, Stub: true}.Bytes(), facts.KindCubin, []string{"cubin sm_80 empty"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := complete(t, tt.name, tt.b)
			require.Equal(t, tt.kind, f.Kind)
			require.Equal(t, tt.want, targets(f))
			require.EqualValues(t, len(tt.b), f.Size)
		})
	}
}
