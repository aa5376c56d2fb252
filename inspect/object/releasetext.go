package object

import (
	"path"
	"regexp"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// A few libraries carry their release as text. Found in NCCL of 2.21 to 2.30 and in NVRTC and
// nvJitLink of 12.4 and 13.5; cuBLAS, cuDNN, cuFFT and the others carry none, they return it
// from a function.
var releaseTexts = []struct {
	files  []string // what the names of files begin with
	text   string   // what the release follows
	parsed *regexp.Regexp
}{
	{[]string{"libnccl."}, "NCCL version ", regexp.MustCompile(`^NCCL version ([0-9]+\.[0-9]+\.[0-9]+)\+cuda[0-9]`)},
	{[]string{"libnvrtc.", "libnvJitLink."}, "Cuda compilation tools, release ", regexp.MustCompile(`^Cuda compilation tools, release [0-9.]+, V([0-9]+\.[0-9]+\.[0-9]+)`)},
}

// searchRelease adds the pattern of a file that carries its release.
func (s *scan) searchRelease(name string, patterns *[]pattern, handle *[]func() error) {
	base := path.Base(name)
	for _, t := range releaseTexts {
		for _, prefix := range t.files {
			if !strings.HasPrefix(base, prefix) {
				continue
			}
			*patterns = append(*patterns, pattern{want: []byte(t.text)})
			*handle = append(*handle, func() error {
				const longest = 96
				b, err := s.peek(longest)
				if err != nil {
					return err
				}
				if m := t.parsed.FindSubmatch(b); m != nil && s.says == "" {
					s.says = string(m[1])
				}
				return s.step(len(t.text))
			})
		}
	}
}

// saidRelease is the release that the file carries as text, or nil.
func (s *scan) saidRelease() *facts.Release {
	if s.says == "" {
		return nil
	}
	return &facts.Release{Version: s.says, Evidence: "text in the file"}
}
