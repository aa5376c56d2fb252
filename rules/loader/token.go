package loader

import "strings"

// expand replaces the dynamic string tokens of a path (ld.so(8), "Dynamic string
// tokens"). Others stand for themselves. As in glibc, a name without braces needs no end.
func expand(s, origin, lib, platform string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		value, size := token(after, origin, lib, platform)
		if size == 0 {
			out.WriteByte('$')
		} else {
			out.WriteString(value)
		}
		s = after[size:]
	}
}

func token(s, origin, lib, platform string) (value string, size int) {
	for _, t := range []struct{ name, value string }{{"ORIGIN", origin}, {"PLATFORM", platform}, {"LIB", lib}} {
		if strings.HasPrefix(s, "{"+t.name+"}") {
			return t.value, len(t.name) + 2
		}
		if strings.HasPrefix(s, t.name) {
			return t.value, len(t.name)
		}
	}
	return "", 0
}
