// Package ptx reads the head of PTX, the text form of GPU code that the driver
// compiles when it loads it: the ISA version, the target and its options.
//
// The syntax is that of the "Parallel Thread Execution ISA" manual, chapter
// "Directives": comments, .version, .target, .address_size, in this order.
package ptx

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotPTX reports that the text does not start as PTX does.
var ErrNotPTX = errors.New("not PTX")

// ErrIncomplete reports that the text ends before its head does; more text may
// make it PTX.
var ErrIncomplete = errors.New("PTX head is cut off")

// FormatError reports a head that starts as PTX does and goes wrong.
type FormatError struct {
	Offset int64
	Msg    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("broken PTX at offset %#x: %s", e.Offset, e.Msg)
}

// Head is the head of a PTX text.
type Head struct {
	Major, Minor int    // ISA version
	SM           int    // 80 in sm_80
	Suffix       string // "", "a" or "f"
	Options      []string
	AddressSize  int // 32 or 64; 0 where the text does not say
}

// Target returns the target as nvcc names PTX: compute_90a.
func (h Head) Target() string { return fmt.Sprintf("compute_%d%s", h.SM, h.Suffix) }

// ISA returns the ISA version.
func (h Head) ISA() string { return fmt.Sprintf("%d.%d", h.Major, h.Minor) }

// ParseHead reads the head of text. Of several .target lines the one with the
// highest SM counts, as the manual says. Text after the head is not looked at.
func ParseHead(text []byte) (Head, error) {
	s := scanner{text: text}
	var h Head
	word, err := s.word()
	if err != nil {
		return h, err
	}
	if word != ".version" {
		return h, ErrNotPTX
	}
	if err := h.version(&s); err != nil {
		return h, err
	}
	if word, err = s.word(); err != nil {
		return h, err
	}
	if word != ".target" {
		return h, &FormatError{int64(s.start), fmt.Sprintf("want .target after .version, found %q", clip(word))}
	}
	for word == ".target" {
		if err := h.target(&s); err != nil {
			return h, err
		}
		// The head may be the whole text: what follows is optional.
		if word, err = s.word(); err != nil {
			return h, nil
		}
	}
	if word == ".address_size" {
		if word, err = s.word(); err == nil && (word == "32" || word == "64") {
			h.AddressSize, _ = strconv.Atoi(word)
		}
	}
	return h, nil
}

func (h *Head) version(s *scanner) error {
	word, err := s.word()
	if err != nil {
		return err
	}
	major, minor, ok := strings.Cut(word, ".")
	var err1, err2 error
	h.Major, err1 = decimal(major)
	h.Minor, err2 = decimal(minor)
	if !ok || err1 != nil || err2 != nil {
		return &FormatError{int64(s.start), fmt.Sprintf("ISA version %q is not MAJOR.MINOR", clip(word))}
	}
	return nil
}

// target reads the comma-separated list after .target: the target and its options.
func (h *Head) target(s *scanner) error {
	for more := true; more; {
		word, err := s.word()
		if err != nil {
			return err
		}
		if word, more = strings.CutSuffix(word, ","); word == "" {
			return &FormatError{int64(s.start), "empty name in the list after .target"}
		}
		if !more {
			more = s.comma()
		}
		digits, ok := strings.CutPrefix(word, "sm_")
		if !ok {
			digits, ok = strings.CutPrefix(word, "compute_")
		}
		if !ok {
			h.Options = append(h.Options, word)
			continue
		}
		bare := strings.TrimRight(digits, "af")
		sm, err := decimal(bare)
		if err != nil || len(digits)-len(bare) > 1 || sm < 10 {
			return &FormatError{int64(s.start), fmt.Sprintf("target %q is not sm_NN", clip(word))}
		}
		if sm > h.SM {
			h.SM, h.Suffix = sm, digits[len(bare):]
		}
	}
	if h.SM == 0 {
		return &FormatError{int64(s.start), ".target names no sm_NN"}
	}
	return nil
}

func decimal(s string) (int, error) {
	if s == "" || len(s) > 4 || strings.Trim(s, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(s)
}

// clip keeps a word from the file short enough for a message.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// scanner splits text into words; a word ends at white space or a comma, which
// it keeps. The end of the text ends no word: it may have been cut off.
type scanner struct {
	text  []byte
	pos   int
	start int // of the last word
}

// maxWord is far above any word of a PTX head.
const maxWord = 256

func (s *scanner) word() (string, error) {
	if err := s.skip(); err != nil {
		return "", err
	}
	s.start = s.pos
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ',':
			s.pos++
			return string(s.text[s.start:s.pos]), nil
		case isSpace(c) || c == 0 || c == '/':
			return string(s.text[s.start:s.pos]), nil
		case c < ' ' || c > '~' || s.pos-s.start > maxWord:
			return "", ErrNotPTX
		}
		s.pos++
	}
	return "", ErrIncomplete
}

// comma reports whether a comma comes next, and takes it.
func (s *scanner) comma() bool {
	if s.skip() == nil && s.text[s.pos] == ',' {
		s.pos++
		return true
	}
	return false
}

// skip passes white space and comments.
func (s *scanner) skip() error {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch {
		case isSpace(rest[0]):
			s.pos++
		case bytes.HasPrefix(rest, []byte("//")):
			if !s.skipPast("\n") {
				return ErrIncomplete
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			if !s.skipPast("*/") {
				return ErrIncomplete
			}
		case len(rest) == 1 && rest[0] == '/':
			return ErrIncomplete // perhaps half a comment's mark
		case rest[0] == 0 || rest[0] == '/':
			return ErrNotPTX
		default:
			return nil
		}
	}
	return ErrIncomplete
}

func (s *scanner) skipPast(mark string) bool {
	i := bytes.Index(s.text[s.pos:], []byte(mark))
	if i < 0 {
		return false
	}
	s.pos += i + len(mark)
	return true
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}
