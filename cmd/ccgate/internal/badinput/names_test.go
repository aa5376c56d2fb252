package badinput

import (
	"archive/tar"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/facts"
)

// text is a file that is no library, under the name of one.
func text(name string) member { return file(name, "text") }

// merged are the paths of the files of layers in their order, with the layer of each.
func merged(t testing.TB, layers ...[]member) []string {
	t.Helper()
	var stored [][]byte
	for _, members := range layers {
		stored = append(stored, tarOf(t, members...))
	}
	img, o := process{}.inspect(t, layout(t, stored...))
	require.Equal(t, cli.ExitOK, o.status, o.stderr)
	return paths(&img.Platforms[0])
}

func paths(pl *facts.Platform) []string {
	found := []string{}
	for _, f := range pl.Files {
		found = append(found, fmt.Sprint(f.Layer, " ", f.Path))
	}
	return found
}

type layers = [][]member

func Test30NamesThatLeadElsewhere(t *testing.T) {
	for _, name := range []string{"/opt/libk.so", "//opt/libk.so", "./opt/libk.so", "opt//libk.so", "opt/./libk.so", "opt/x/../libk.so", "/./opt//.//libk.so"} {
		t.Run(name, func(t *testing.T) { accept(t, layout(t, tarOf(t, lib(name)))) })
	}
	for _, name := range []string{"../opt/libk.so", "/../opt/libk.so", "opt/../../libk.so", "opt/../.."} {
		t.Run(name, func(t *testing.T) {
			requireLibrary(t, partial(t, name, "name leads out of the image", layout(t, tarOf(t, lib(name), lib("opt/libk.so")))))
		})
	}
	t.Run("directories named . and with slashes at the end", func(t *testing.T) {
		accept(t, layout(t, tarOf(t, directory("."), directory("./"), directory("opt"), directory("opt//"), lib("opt/libk.so"), directory("opt/."))))
	})
	t.Run("directory named ..", func(t *testing.T) {
		partial(t, "../", "name leads out of the image", layout(t, tarOf(t, directory(".."), lib("opt/libk.so"))))
	})
	t.Run("Windows separators", func(t *testing.T) {
		require.Equal(t, []string{`0 /C:\x.so`, `0 /opt\..\..\x.so`}, merged(t, []member{lib(`opt\..\..\x.so`), lib(`C:\x.so`)}))
	})
}

func Test31SamePathTwice(t *testing.T) {
	for name, test := range map[string]struct {
		layers layers
		want   []string
	}{
		"the last one is the library":      {layers{{text("opt/k.so"), lib("opt/k.so")}}, []string{"0 /opt/k.so"}},
		"the last one is text":             {layers{{lib("opt/k.so"), text("opt/k.so")}}, nil},
		"in layers":                        {layers{{lib("opt/k.so")}, {lib("opt/k.so")}}, []string{"1 /opt/k.so"}},
		"spelled in another way":           {layers{{lib("opt/k.so"), text("./opt//k.so")}}, nil},
		"file, then directory":             {layers{{lib("opt/k.so"), directory("opt/k.so"), lib("opt/k.so/x.so")}}, []string{"0 /opt/k.so/x.so"}},
		"directory, then file":             {layers{{lib("opt/d/x.so"), lib("opt/d")}}, []string{"0 /opt/d"}},
		"directory over file, in layers":   {layers{{lib("opt/k.so")}, {directory("opt/k.so")}}, nil},
		"file over directory, in layers":   {layers{{lib("opt/d/x.so")}, {text("opt/d")}}, nil},
		"directory over directory":         {layers{{lib("opt/x.so")}, {directory("opt"), lib("opt/y.so")}}, []string{"0 /opt/x.so", "1 /opt/y.so"}},
		"file in the place of a directory": {layers{{text("opt")}, {lib("opt/x.so")}}, []string{"1 /opt/x.so"}},
		"link over file":                   {layers{{lib("opt/k.so")}, {symlink("opt/k.so", "elsewhere")}}, nil},
		"names that differ by case":        {layers{{lib("opt/K.so"), lib("opt/k.so")}}, []string{"0 /opt/K.so", "0 /opt/k.so"}},
	} {
		t.Run(name, func(t *testing.T) { require.ElementsMatch(t, test.want, merged(t, test.layers...)) })
	}
}

func Test32Whiteouts(t *testing.T) {
	below := []member{directory("opt"), lib("opt/a.so"), lib("opt/b.so")}
	both := []string{"0 /opt/a.so", "0 /opt/b.so"}
	for name, test := range map[string]struct {
		above []member
		want  []string
	}{
		"one name":                       {[]member{file("opt/.wh.a.so", "")}, []string{"0 /opt/b.so"}},
		"with a payload":                 {[]member{lib("opt/.wh.a.so")}, []string{"0 /opt/b.so"}},
		"as a device":                    {[]member{{Header: tar.Header{Name: "opt/.wh.a.so", Typeflag: tar.TypeChar}}}, []string{"0 /opt/b.so"}},
		"a directory":                    {[]member{file(".wh.opt", "")}, nil},
		"of a path that does not exist":  {[]member{file("opt/.wh.c.so", ""), file("no/.wh.thing", "")}, both},
		".wh. alone":                     {[]member{file("opt/.wh.", "")}, both},
		".wh..":                          {[]member{file("opt/.wh..", "")}, both},
		".wh...":                         {[]member{file("opt/.wh...", "")}, both},
		".wh..wh.plnk":                   {[]member{directory(".wh..wh.plnk"), lib(".wh..wh.plnk/12.34"), file(".wh..wh.aufs", "")}, both},
		"and a file of the name, before": {[]member{lib("opt/a.so"), file("opt/.wh.a.so", "")}, []string{"1 /opt/a.so", "0 /opt/b.so"}},
		"and a file of the name, after":  {[]member{file("opt/.wh.a.so", ""), lib("opt/a.so")}, []string{"1 /opt/a.so", "0 /opt/b.so"}},
		"opaque":                         {[]member{file("opt/.wh..wh..opq", ""), lib("opt/c.so")}, []string{"1 /opt/c.so"}},
		"opaque after content":           {[]member{lib("opt/c.so"), file("opt/.wh..wh..opq", "")}, []string{"1 /opt/c.so"}},
		"opaque twice":                   {[]member{file("opt/.wh..wh..opq", ""), lib("opt/a.so"), file("opt/.wh..wh..opq", "")}, []string{"1 /opt/a.so"}},
		"opaque root":                    {[]member{file(".wh..wh..opq", ""), lib("x.so")}, []string{"1 /x.so"}},
	} {
		t.Run(name, func(t *testing.T) { require.ElementsMatch(t, test.want, merged(t, below, test.above)) })
	}
}

// chain is a row of links to a directory with a library, which is reached through hops of them.
func chain(hops int) []member {
	members := []member{directory("d0")}
	for n := range hops {
		members = append(members, symlink(fmt.Sprint("d", n+1), fmt.Sprint("d", n)))
	}
	return append(members, lib(fmt.Sprint("d", hops, "/x.so")))
}

func Test33Links(t *testing.T) {
	for name, test := range map[string]struct {
		layers layers
		want   []string
	}{
		"hard link":                    {layers{{lib("a.so"), hardlink("b.so", "a.so")}}, []string{"0 /a.so", "0 /b.so"}},
		"before its target":            {layers{{hardlink("b.so", "a.so"), lib("a.so")}}, []string{"0 /a.so", "0 /b.so"}},
		"to a lower layer":             {layers{{lib("a.so")}, {hardlink("b.so", "/a.so")}}, []string{"0 /a.so", "1 /b.so"}},
		"to a whiteout":                {layers{{lib("a.so")}, {file(".wh.a.so", ""), hardlink("b.so", "a.so")}}, nil},
		"to what is missing":           {layers{{hardlink("b.so", "nowhere"), lib("c.so")}}, []string{"0 /c.so"}},
		"to itself":                    {layers{{hardlink("b.so", "b.so"), lib("c.so")}}, []string{"0 /c.so"}},
		"to each other":                {layers{{hardlink("a.so", "b.so"), hardlink("b.so", "a.so"), lib("c.so")}}, []string{"0 /c.so"}},
		"in a chain, from its end":     {layers{{hardlink("c.so", "b.so"), hardlink("b.so", "a.so"), lib("a.so")}}, []string{"0 /a.so", "0 /b.so", "0 /c.so"}},
		"symbolic link to a directory": {layers{{directory("real"), symlink("d", "real")}, {lib("d/x.so")}}, []string{"1 /real/x.so"}},
		"absolute":                     {layers{{symlink("d", "/opt")}, {lib("d/x.so")}}, []string{"1 /opt/x.so"}},
		"out of the image":             {layers{{symlink("d", "../../../..")}, {lib("d/etc/x.so")}}, []string{"1 /etc/x.so"}},
		"40 hops":                      {layers{chain(40)}, []string{"0 /d0/x.so"}},
	} {
		t.Run(name, func(t *testing.T) { require.ElementsMatch(t, test.want, merged(t, test.layers...)) })
	}
	for name, members := range map[string][]member{
		"41 hops":         append(chain(41), lib("opt/libk.so")),
		"loop":            {symlink("a", "b"), symlink("b", "a"), lib("a/x.so"), lib("opt/libk.so")},
		"to itself":       {symlink("a", "a"), lib("a/x.so"), lib("opt/libk.so")},
		"below itself":    {symlink("a", "a/b"), lib("a/x.so"), lib("opt/libk.so")},
		"hard, in a loop": {symlink("a", "a"), hardlink("b.so", "a/x.so"), lib("opt/libk.so")},
	} {
		t.Run(name, func(t *testing.T) {
			img, _ := process{}.inspect(t, layout(t, tarOf(t, members...)))
			require.Len(t, img.Platforms[0].Unread, 1)
			requireLibrary(t, partial(t, img.Platforms[0].Unread[0].Path, "too many symbolic links in its path", layout(t, tarOf(t, members...))))
		})
	}
}

func Test34EntriesThatAreNoFiles(t *testing.T) {
	for _, typeflag := range "346" {
		t.Run("device or FIFO "+string(typeflag), func(t *testing.T) {
			accept(t, layout(t, ended(raw("dev/x", byte(typeflag), nil), libEntry())))
		})
	}
	t.Run("contiguous file", func(t *testing.T) { accept(t, layout(t, ended(raw("opt/libk.so", '7', library())))) })
	t.Run("file of the oldest format", func(t *testing.T) { accept(t, layout(t, ended(raw("opt/libk.so", 0, library())))) })
	for _, typeflag := range []byte("sZ9\xff") {
		t.Run(fmt.Sprintf("unknown %q", typeflag), func(t *testing.T) {
			pl := partial(t, "/dev/log", fmt.Sprintf("tar entry of unknown type %q", typeflag), layout(t, ended(raw("dev/log", typeflag, nil), libEntry())))
			requireLibrary(t, pl)
		})
	}
}
