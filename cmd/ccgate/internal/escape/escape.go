// Package escape makes text from an image inert before it reaches a terminal.
//
// Paths, labels and history steps of an image are under the control of whoever built it.
// Printed as they are, they could move the cursor, recolour the screen, hide text or forge
// lines of a report. Everything that is not a plain printable character is written as
// a Go escape instead: \n, \x1b, \u202e. So is a character of each mark by which a runner
// of pipelines finds commands in a log.
package escape

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with each character that is not printable, each byte that is not
// UTF-8 and each line break written as an escape.
func Text(s string) string {
	if clean(s) {
		return unmark(s)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case printable(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		i += n
	}
	return unmark(b.String())
}

// unmark breaks the marks of commands in the log of a pipeline. Those of GitHub Actions
// are "::" at the start of a line, perhaps after spaces, and the older "##[" anywhere; that
// of Azure Pipelines is "##vso[". Which text will start a line is not known here, so "::"
// stays only behind a letter or a digit, as in names of C++ and of conda.
func unmark(s string) string {
	if strings.Contains(s, "##") {
		s = strings.NewReplacer("##[", `#\x23[`, "##vso[", `#\x23vso[`).Replace(s)
	}
	if !strings.Contains(s, "::") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if s[i] == ':' && i > 0 && s[i-1] == ':' && (i == 1 || !isWord(s[i-2])) {
			b.WriteString(`\x3a`)
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func clean(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !printable(r) }) < 0
}

// printable leaves out format characters, which change the order of text, and all
// spaces but the ordinary one.
func printable(r rune) bool { return unicode.IsPrint(r) }

// Lines is [Text] for text that may have several lines.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Text(lines[i])
	}
	return strings.Join(lines, "\n")
}

// JSON returns JSON text with the control and format characters that an encoder
// leaves alone, and the marks of commands in logs, written as \u escapes. They occur only
// inside strings.
func JSON(text []byte) []byte {
	text = bytes.Join(escapeRunes(text), nil)
	for _, mark := range []string{"##[", "##vso["} {
		text = bytes.ReplaceAll(text, []byte(mark), []byte(`#\u0023`+mark[2:]))
	}
	return text
}

func escapeRunes(text []byte) [][]byte {
	var parts [][]byte
	start := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r >= 0x7f && r <= 0xffff && !printable(r) {
			parts = append(parts, text[start:i], fmt.Appendf(nil, `\u%04x`, r))
			start = i + n
		}
		i += n
	}
	return append(parts, text[start:])
}

// All returns a copy of v in which [Text] was applied to every string: in fields, slices,
// maps and behind pointers. The printers apply it once to all they print, so that no field
// can be forgotten. Types with unexported fields are not for it.
func All[T any](v T) T {
	return walk(reflect.ValueOf(&v).Elem()).Interface().(T)
}

func walk(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(Text(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(walk(v.Field(i)))
		}
	case reflect.Slice:
		if v.IsNil() {
			return out
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(walk(v.Index(i)))
		}
	case reflect.Map:
		if v.IsNil() {
			return out
		}
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(walk(it.Key()), walk(it.Value()))
		}
	case reflect.Pointer:
		if v.IsNil() {
			return out
		}
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(walk(v.Elem()))
	default:
		out.Set(v)
	}
	return out
}
