package object

import (
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// A CUDA runtime carries no version string, shared or static. It carries the
// names of its entry points and errors as text, also after strip, and each release
// adds some: the newest name that is present gives a lower bound of the release.

// staticMark is an error name that every runtime since CUDA 10 carries.
const staticMark = "cudaErrorCudartUnloading"

// runtimeMarks maps names to the CUDA release that brought them. Each is absent from
// every earlier runtime package and present in every later one, shared and static, of
// 11.8 to 13.5. No name tells 12.9 from 12.8 or 13.5 from 13.4.
var runtimeMarks = map[string]string{
	staticMark:                              "",
	"cudaErrorCdpNotSupported":              "12.0",
	"cudaErrorCdpVersionMismatch":           "12.0",
	"cudaErrorUnsupportedDevSideSync":       "12.1",
	"cudaGetKernel":                         "12.1",
	"cudaGraphExecNodeSetParams":            "12.2",
	"cudaGraphNodeSetParams":                "12.2",
	"cudaErrorLossyQuery":                   "12.3",
	"cudaGraphConditionalHandleCreate":      "12.3",
	"cudaDeviceRegisterAsyncNotification":   "12.4",
	"cudaFuncGetParamInfo":                  "12.4",
	"cudaGetDriverEntryPointByVersion":      "12.5",
	"cudaErrorFunctionNotLoaded":            "12.6",
	"cudaErrorInvalidResourceConfiguration": "12.6",
	"cudaErrorTensorMemoryLeak":             "12.8",
	"cudaErrorContained":                    "12.8",
	"cudaLogsRegisterCallback":              "13.0",
	"cudaDeviceGetHostAtomicCapabilities":   "13.0",
	"cudaErrorStreamDetached":               "13.1",
	"cudaExecutionCtxSynchronize":           "13.1",
	"cudaErrorVersionTranslation":           "13.2",
	"cudaFuncGetParamCount":                 "13.2",
	"cudaErrorGraphRecaptureFailure":        "13.3",
	"cudaSubgridCreate":                     "13.3",
	"cudaErrorFabricNotReady":               "13.4",
	"cudaErrorInsufficientLoaderVersion":    "13.4",
}

// runtimeNames collects the marks that a file holds, with where they stand.
type runtimeNames struct{ seen []runtimeName }

type runtimeName struct {
	name   string
	offset int64
}

func (n *runtimeNames) add(name string, offset int64) {
	if _, ok := runtimeMarks[name]; !ok {
		return
	}
	// The same name may stand in a symbol table and in data.
	const most = 256
	if len(n.seen) < most {
		n.seen = append(n.seen, runtimeName{name, offset})
	}
}

// runtime tells the CUDA runtime that the file is or contains, or nil.
func (s *scan) runtime(f *facts.File) *facts.Runtime {
	static := false
	var release string
	for _, n := range s.names.seen {
		if !s.inData(n.offset) {
			continue
		}
		static = static || n.name == staticMark
		if r := runtimeMarks[n.name]; compareRelease(r, release) > 0 {
			release = r
		}
	}
	shared := f.ELF != nil && strings.HasPrefix(f.ELF.Soname, "libcudart.so.")
	switch {
	case shared:
		return sharedRuntime(f, release)
	case static:
		return s.staticRuntime(f, release)
	}
	return nil
}

// sharedRuntime names libcudart's release by its file name, or by its soname with the marks.
func sharedRuntime(f *facts.File, release string) *facts.Runtime {
	r := &facts.Runtime{Linkage: facts.LinkageShared}
	soname := strings.TrimPrefix(f.ELF.Soname, "libcudart.so.")
	base := f.Path[strings.LastIndex(f.Path, "/")+1:]
	version := strings.TrimPrefix(base, "libcudart.so.")
	switch {
	case version != base && strings.Count(version, ".") >= 2:
		r.Version, r.Evidence = majorMinor(version), "file name "+base
	case release != "" && major(release) == major(soname):
		r.Version, r.AtLeast, r.Evidence = release, true, "soname "+f.ELF.Soname+" and the names of its functions"
	default:
		r.Version, r.Evidence = major(soname), "soname "+f.ELF.Soname
	}
	return r
}

// staticRuntime names the release of a runtime that is linked in: the device
// code in the same file comes from the same toolkit as a rule, and the names give a lower bound.
func (s *scan) staticRuntime(f *facts.File, release string) *facts.Runtime {
	r := &facts.Runtime{Linkage: facts.LinkageStatic}
	toolkit := ""
	if f.Code != nil {
		toolkit = f.Code.Toolkit
	}
	switch {
	case release != "" && (toolkit == "" || major(toolkit) != major(release)):
		r.Version, r.AtLeast, r.Evidence = release, true, "names of runtime functions"
	case toolkit != "":
		r.Version, r.Evidence = toolkit, "toolkit of the device code"
	}
	return r
}
