package matrix

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The TOML library gives positions for errors of syntax only. For errors of
// meaning, positionsOf scans the source a second time and notes where each key
// and each value stands. It expects a document that the library has accepted;
// on anything else it stops early and never fails.

// position is a place in a file, from 1; the column counts characters.
type position struct{ line, column int }

// tomlPath names a key, a table or an array element: its parts, each after a
// separator that no key that ccgate knows contains.
type tomlPath string

func (p tomlPath) key(name string) tomlPath { return p + "\x00" + tomlPath(name) }

func (p tomlPath) element(i int) tomlPath { return p + "\x01" + tomlPath(strconv.Itoa(i)) }

// positions are the byte offsets of the keys and values of one document.
type positions struct {
	src    string
	lines  []int // where each line begins
	keys   map[tomlPath]int
	values map[tomlPath]int
}

func newPositions(src string) positions {
	x := positions{src: src, lines: []int{0}, keys: map[tomlPath]int{}, values: map[tomlPath]int{}}
	for i := range len(src) {
		if src[i] == '\n' {
			x.lines = append(x.lines, i+1)
		}
	}
	return x
}

// maxTOMLDepth bounds the nesting of arrays and inline tables.
const maxTOMLDepth = 64

// positionsOf indexes a valid TOML document.
func positionsOf(src string) *positions {
	s := &tomlScanner{index: newPositions(src), arrays: map[tomlPath]int{}}
	s.off = len(src) - len(strings.TrimPrefix(src, "\ufeff"))
	s.document()
	return &s.index
}

// of is the place of a value, or of the key where the value has none, or of
// the nearest table around it.
func (x *positions) of(p tomlPath) position {
	for p != "" {
		if off, ok := x.values[p]; ok {
			return x.at(off)
		}
		if off, ok := x.keys[p]; ok {
			return x.at(off)
		}
		p = p[:strings.LastIndexAny(string(p), "\x00\x01")]
	}
	return position{1, 1}
}

// ofKey is the place of a key.
func (x *positions) ofKey(p tomlPath) position {
	if off, ok := x.keys[p]; ok {
		return x.at(off)
	}
	return x.of(p)
}

// at turns a byte offset into a place.
func (x *positions) at(off int) position {
	off = min(max(off, 0), len(x.src))
	line, found := slices.BinarySearch(x.lines, off)
	if !found {
		line--
	}
	before := strings.TrimPrefix(x.src[x.lines[line]:off], "\ufeff")
	return position{line + 1, utf8.RuneCountInString(before) + 1}
}

// tomlScanner walks a document.
type tomlScanner struct {
	index  positions
	off    int
	arrays map[tomlPath]int // arrays of tables → tables so far
}

func (s *tomlScanner) peek() byte {
	if s.off < len(s.index.src) {
		return s.index.src[s.off]
	}
	return 0
}

func (s *tomlScanner) end() bool { return s.off >= len(s.index.src) }

// skip passes over blanks, and over line ends and comments where newlines is set.
func (s *tomlScanner) skip(newlines bool) {
	for !s.end() {
		switch c := s.peek(); {
		case c == ' ' || c == '\t', newlines && (c == '\n' || c == '\r'):
			s.off++
		case newlines && c == '#':
			s.toLineEnd()
		default:
			return
		}
	}
}

func (s *tomlScanner) toLineEnd() {
	if i := strings.IndexByte(s.index.src[s.off:], '\n'); i >= 0 {
		s.off += i
	} else {
		s.off = len(s.index.src)
	}
}

// document reads headers and pairs up to the end.
func (s *tomlScanner) document() {
	var table tomlPath
	for {
		s.skip(true)
		start := s.off
		switch {
		case s.end():
			return
		case s.peek() == '[':
			table = s.header()
		default:
			s.pair(table, 0)
		}
		if s.off == start { // not TOML; do not spin
			return
		}
		s.skip(true)
	}
}

// header reads [a.b] or [[a.b]] and returns the path of the table.
func (s *tomlScanner) header() tomlPath {
	start := s.off
	s.off++
	isArray := s.peek() == '['
	if isArray {
		s.off++
	}
	var p tomlPath
	parts := s.dottedKey()
	for i, part := range parts {
		p = p.key(part.name)
		if _, ok := s.index.keys[p]; !ok {
			s.index.keys[p] = part.off
		}
		n := s.arrays[p]
		switch {
		case i == len(parts)-1 && isArray:
			s.arrays[p] = n + 1
			p = p.element(n)
			s.index.values[p] = start
		case n > 0:
			p = p.element(n - 1)
		}
	}
	s.toLineEnd()
	return p
}
