package matrix

import "strings"

// keyPart is one part of a dotted key.
type keyPart struct {
	name string
	off  int
}

// dottedKey reads a.b."c d".
func (s *tomlScanner) dottedKey() []keyPart {
	var parts []keyPart
	for {
		s.skip(false)
		part := keyPart{off: s.off}
		switch c := s.peek(); c {
		case '"', '\'':
			part.name = s.quoted(c)
		default:
			start := s.off
			for !s.end() && !strings.ContainsRune(" \t\r\n.=]#,}", rune(s.peek())) {
				s.off++
			}
			part.name = s.index.src[start:s.off]
		}
		parts = append(parts, part)
		s.skip(false)
		if s.peek() != '.' {
			return parts
		}
		s.off++
	}
}

// pair reads key = value in a table.
func (s *tomlScanner) pair(table tomlPath, depth int) {
	p := table
	for _, part := range s.dottedKey() {
		p = p.key(part.name)
		if _, ok := s.index.keys[p]; !ok {
			s.index.keys[p] = part.off
		}
	}
	s.skip(false)
	if s.peek() != '=' {
		return
	}
	s.off++
	s.skip(false)
	s.value(p, depth)
}

// value reads a value and notes where it begins.
func (s *tomlScanner) value(p tomlPath, depth int) {
	s.index.values[p] = s.off
	switch c := s.peek(); {
	case depth > maxTOMLDepth:
		s.off = len(s.index.src)
	case c == '"' || c == '\'':
		s.quoted(c)
	case c == '[':
		s.array(p, depth+1)
	case c == '{':
		s.inlineTable(p, depth+1)
	default:
		for !s.end() && !strings.ContainsRune(",]}#\r\n", rune(s.peek())) {
			s.off++
		}
	}
}

// array reads [value, …] over several lines.
func (s *tomlScanner) array(p tomlPath, depth int) {
	s.off++
	for i := 0; ; i++ {
		s.skip(true)
		if s.end() || s.peek() == ']' {
			break
		}
		start := s.off
		s.value(p.element(i), depth)
		s.skip(true)
		if s.peek() == ',' {
			s.off++
		} else if s.off == start {
			return
		}
	}
	s.off++
}

// inlineTable reads {key = value, …}.
func (s *tomlScanner) inlineTable(p tomlPath, depth int) {
	s.off++
	for {
		s.skip(true)
		if s.end() || s.peek() == '}' {
			break
		}
		start := s.off
		s.pair(p, depth)
		s.skip(true)
		if s.peek() == ',' {
			s.off++
		} else if s.off == start {
			return
		}
	}
	s.off++
}

// quoted reads a string of any of the four kinds. The text returned is exact
// for keys without escapes, which is all that paths need.
func (s *tomlScanner) quoted(quote byte) string {
	src, q := s.index.src, string(quote)
	if long := strings.Repeat(q, 3); strings.HasPrefix(src[s.off:], long) {
		s.off += 3
		start := s.off
		s.closing(long, quote == '"')
		for i := 0; i < 2 && s.peek() == quote; i++ { // """ may end in two more quotes
			s.off++
		}
		return src[start:s.off]
	}
	s.off++
	start := s.off
	s.closing(q, quote == '"')
	return src[start:max(start, s.off-1)]
}

// closing moves behind the closing quotes.
func (s *tomlScanner) closing(quotes string, escapes bool) {
	for !s.end() {
		switch {
		case escapes && s.peek() == '\\':
			s.off = min(s.off+2, len(s.index.src))
		case strings.HasPrefix(s.index.src[s.off:], quotes):
			s.off += len(quotes)
			return
		default:
			s.off++
		}
	}
}
