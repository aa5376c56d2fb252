package object

import (
	"bytes"
	"encoding/json"

	"github.com/ccgate/ccgate/inspect/facts"
)

// compatSection is the note by which libcuda of a forward-compatibility package says which hosts it
// serves. The form is that reported of the packages of drivers 575 and 590; none was at hand to
// compare with:
//
//	u32 size of the name, u32 size of the description, u32 type (0)
//	name "NVIDIA Corporation", padded
//	description: JSON with "CUDA version", "driver" (branches) and "device" (brands as NVML numbers them), padded
const (
	compatSection = ".note.cuda.fwd_compatibility"
	maxNote       = 64 << 10
)

// compat reads the note of a forward-compatibility package, nil where there is none that makes
// sense: what it would have told is then not known.
func (s *scan) compat() *facts.Compat {
	for _, sec := range s.sections {
		if sec.Name != compatSection || sec.Size > maxNote || sec.Size < 12 || sec.Offset > uint64(s.size) || sec.Size > uint64(s.size)-sec.Offset {
			continue
		}
		note := make([]byte, sec.Size)
		if n, _ := s.in.at().ReadAt(note, int64(sec.Offset)); n < len(note) {
			return nil
		}
		return parseCompat(note[12:])
	}
	return nil
}

func parseCompat(body []byte) *facts.Compat {
	start := bytes.IndexByte(body, '{')
	if start < 0 {
		return nil
	}
	var text struct {
		CUDA   string `json:"CUDA version"`
		Driver []int  `json:"driver"`
		Device []int  `json:"device"`
	}
	if err := json.NewDecoder(bytes.NewReader(body[start:])).Decode(&text); err != nil {
		return nil
	}
	return &facts.Compat{CUDA: text.CUDA, Hosts: text.Driver, Brands: text.Device}
}
