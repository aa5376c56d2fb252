package matrix

// maxNesting is how deep brackets, braces and dotted keys may go; a fleet file needs three.
const maxNesting = 64

// tooDeep returns the offset at which a TOML text nests too deep, or -1. The library keeps
// the whole key of each value, so a hundred thousand levels would cost it gigabytes.
func tooDeep(src string) int {
	depth, dots := 0, 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '#':
			i = skipUntil(src, i, '\n', false)
		case '"', '\'':
			i = skipUntil(src, i, src[i], src[i] == '"')
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '.':
			dots++
		}
		if i < len(src) && (src[i] == '\n' || src[i] == '=' || src[i] == ',') {
			dots = 0
		}
		if max(depth, dots) > maxNesting {
			return i
		}
	}
	return -1
}

// skipUntil returns the offset of the next byte that is end, or the length of src.
func skipUntil(src string, at int, end byte, escapes bool) int {
	for at++; at < len(src) && src[at] != end; at++ {
		if escapes && src[at] == '\\' {
			at++
		}
	}
	return min(at, len(src))
}
