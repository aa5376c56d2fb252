// Package facts holds what ccgate reads from an image, as plain data.
//
// Facts carry no policy: no driver, no GPU fleet, no verdict. They are what
// the inspector hands to the rules, and what `ccgate inspect --format json`
// prints, so a verdict can be replayed later without the image. Every fact
// says where it was read: the path in the image, the layer that brought it,
// and for device code the section and the offset.
//
// The JSON form is versioned by [Schema]; a change that alters the meaning of
// a field or removes one needs a new version.
package facts

// Schema is the version of the JSON form of [Image]. Version 1 is the same without
// [Layer.From].
const Schema = 2

// Image is everything read from one reference.
type Image struct {
	Schema    int    `json:"schema"`
	Reference string `json:"reference"`
	// Source says what kind of thing the reference names.
	Source Source `json:"source"`
	// Digest is the digest of the manifest or index that the reference
	// resolved to; empty for a directory or a single file.
	Digest    string     `json:"digest,omitempty"`
	Platforms []Platform `json:"platforms"`
	// NotRead names the platforms of an index that were left out on request.
	NotRead []string `json:"notRead,omitempty"`
}

// Source is the kind of thing a reference names.
type Source string

// The kinds of sources.
const (
	SourceImage  Source = "image"  // layers with a configuration
	SourceRootfs Source = "rootfs" // an unpacked root file system
	SourceFile   Source = "file"   // one file, without a file system around it
	SourceWheel  Source = "wheel"  // the members of a Python wheel
)

// Platform is one platform of an image.
type Platform struct {
	// Name is os/architecture[/variant] as the OCI image specification
	// writes it, for example "linux/amd64".
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"` // of the image manifest
	Config Config `json:"config"`
	// Layers are in the order of the manifest, lowest first.
	Layers []Layer `json:"layers,omitempty"`
	// Files are the ELF and device-code files that are visible in the merged
	// file system, sorted by path.
	Files []File `json:"files"`
	// Links are the visible symbolic links, sorted by path.
	Links []Link `json:"links,omitempty"`
	// Texts are the visible files that tell a loader where libraries are, sorted by path.
	Texts []Text `json:"texts,omitempty"`
	// Packages are what package managers note of installed packages, sorted by path and name.
	Packages []Package `json:"packages,omitempty"`
	// Unread lists what should have been read and could not be. A platform
	// with unread files has no passing verdict.
	Unread []Unread `json:"unread,omitempty"`
	// Skipped lists files that were deliberately not looked into, such as
	// package archives inside a layer.
	Skipped []Unread `json:"skipped,omitempty"`
	// Notes say what is odd about the image and did not keep it from being
	// read, such as a media type that does not match its layer.
	Notes  []string `json:"notes,omitempty"`
	Totals Totals   `json:"totals"`
}

// Config is the part of the image configuration that matters at run time.
type Config struct {
	Env        []string          `json:"env,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Cmd        []string          `json:"cmd,omitempty"`
	WorkingDir string            `json:"workingDir,omitempty"`
}

// Layer is one layer of an image.
type Layer struct {
	Digest    string `json:"digest"`           // of the stored, usually compressed, blob
	DiffID    string `json:"diffID,omitempty"` // of the uncompressed tar
	MediaType string `json:"mediaType,omitempty"`
	Size      int64  `json:"size"` // stored bytes
	// CreatedBy is the history step that made the layer, usually a
	// Dockerfile instruction.
	CreatedBy string `json:"createdBy,omitempty"`
	// From is the repository of a shared cache that the facts of the layer came from; empty
	// where the layer was read.
	From string `json:"from,omitempty"`
}

// Totals counts what was read.
type Totals struct {
	Bytes   int64 `json:"bytes"`   // stored bytes of all layers, or the file's size
	Files   int   `json:"files"`   // regular files seen in the layers
	Objects int   `json:"objects"` // ELF and device-code files read
}

// Kind is the format of a file.
type Kind string

// The formats of files that carry facts.
const (
	KindELF    Kind = "elf"    // a host program or shared object
	KindFatbin Kind = "fatbin" // a .fatbin file: containers without a host ELF
	KindCubin  Kind = "cubin"  // one device ELF
	KindPTX    Kind = "ptx"    // PTX text
)

// NoLayer is the [File.Layer] of a file that no layer brought.
const NoLayer = -1

// File is one ELF or device-code file.
type File struct {
	Path string `json:"path"`
	// Layer indexes [Platform.Layers]; NoLayer where there are none.
	Layer int   `json:"layer"`
	Size  int64 `json:"size"`
	Kind  Kind  `json:"kind"`
	ELF   *ELF  `json:"elf,omitempty"`
	// Runtime is the CUDA runtime that this file is, or contains.
	Runtime *Runtime `json:"runtime,omitempty"`
	Code    *Code    `json:"code,omitempty"`
	// Release is the version of the library, where the file itself says it.
	Release *Release `json:"release,omitempty"`
	// Damage says what is wrong with the ELF tables of a file that was
	// searched to its end and holds no device code.
	Damage string `json:"damage,omitempty"`
}

// ELF holds the loader's view of a host ELF file.
type ELF struct {
	Class   int      `json:"class"`   // 32 or 64
	Machine string   `json:"machine"` // as in EM_X86_64: "x86_64", "aarch64", or "em-<n>"
	Type    string   `json:"type"`    // "exec", "dyn", "rel", "core" or "et-<n>"
	Soname  string   `json:"soname,omitempty"`
	Needed  []string `json:"needed,omitempty"`
	RPath   []string `json:"rpath,omitempty"`
	RunPath []string `json:"runpath,omitempty"`
	Interp  string   `json:"interp,omitempty"`
	// NoDefaultDirs keeps the loader from its default directories (DF_1_NODEFLIB).
	NoDefaultDirs bool `json:"noDefaultDirs,omitempty"`
	// BindNow marks a file of the CUDA world, or one that needs such a file, whose functions are
	// all looked up when it is loaded.
	BindNow bool `json:"bindNow,omitempty"`
	// VersionNeeds are the symbol versions required of each needed library.
	VersionNeeds []VersionNeed `json:"versionNeeds,omitempty"`
	// VersionDefs are the symbol versions that the file defines, without
	// the base definition.
	VersionDefs []string `json:"versionDefs,omitempty"`
	// Imports are functions of the CUDA world that the file needs, and Exports those that it
	// defines, by the names of its dynamic symbols, sorted. Both are empty where they could
	// not be read, or are too many.
	Imports []string `json:"imports,omitempty"`
	Exports []string `json:"exports,omitempty"`
	// Compat is what libcuda of a forward-compatibility package says of itself.
	Compat *Compat `json:"compat,omitempty"`
}

// Compat is the note of a forward-compatibility package.
type Compat struct {
	CUDA   string `json:"cuda,omitempty"`   // release, as in "12.9"
	Hosts  []int  `json:"hosts,omitempty"`  // driver branches of the hosts that it serves
	Brands []int  `json:"brands,omitempty"` // of the GPUs that it serves, as NVML numbers them
}

// VersionNeed is one entry of .gnu.version_r.
type VersionNeed struct {
	Library  string   `json:"library"`
	Versions []string `json:"versions"`
}

// Release is the exact version of a library.
type Release struct {
	Version  string `json:"version"`
	Evidence string `json:"evidence"` // how it is known
}

// Runtime is a CUDA runtime (libcudart).
type Runtime struct {
	// Linkage is "shared" where the file is libcudart itself and "static"
	// where it is linked into the file.
	Linkage string `json:"linkage"`
	// Version is the CUDA release, major.minor or major alone.
	Version string `json:"version,omitempty"`
	// AtLeast is set where Version is only a lower bound of the minor.
	AtLeast bool `json:"atLeast,omitempty"`
	// Evidence says how Version is known.
	Evidence string `json:"evidence,omitempty"`
}

// The values of [Runtime.Linkage].
const (
	LinkageShared = "shared"
	LinkageStatic = "static"
)

// Code is the device code of one file.
type Code struct {
	// Containers are the fatbin containers in file order.
	Containers []Container `json:"containers,omitempty"`
	// Loose is device code outside fatbins: raw cubins and PTX text in data
	// sections, or the file itself.
	Loose []Entry `json:"loose,omitempty"`
	// Toolkit is the newest CUDA release that the device code names as its
	// compiler, empty where none is named.
	Toolkit string `json:"toolkit,omitempty"`
}

// Container is one fatbin container, usually one translation unit.
type Container struct {
	Section string  `json:"section,omitempty"` // ".nv_fatbin", "__nv_relfatbin", …
	Offset  int64   `json:"offset"`            // in the file
	Size    int64   `json:"size"`              // with its header
	Entries []Entry `json:"entries"`
	// Broken is the reason why the rest of the container could not be read.
	Broken string `json:"broken,omitempty"`
}

// EntryKind is the kind of one piece of device code.
type EntryKind string

// The kinds of device code. A kind that is not known here is written
// "unknown-0x<kind>" and kept.
const (
	EntryPTX      EntryKind = "ptx"
	EntryCubin    EntryKind = "cubin"
	EntryOldCubin EntryKind = "old-cubin" // before ELF, CUDA 2
	EntryLTOIR    EntryKind = "lto-ir"    // NVVM IR for link-time optimisation
	EntryMercury  EntryKind = "mercury"   // ELF that the driver finalises
	EntryIndex    EntryKind = "index"
	EntryRelocPTX EntryKind = "reloc-ptx" // PTX that is linked before use
	EntryTileIR   EntryKind = "tile-ir"
)

// Entry is one piece of device code for one target.
type Entry struct {
	Kind EntryKind `json:"kind"`
	// Target is sm_NN or compute_NN with its suffix, as nvcc writes it.
	Target string `json:"target"`
	// ISA is the PTX ISA version of PTX, for example "8.4".
	ISA string `json:"isa,omitempty"`
	// Codec is the compression of the stored bytes: "lz4", "zstd",
	// "legacy", or empty for none.
	Codec  string `json:"codec,omitempty"`
	Flags  uint64 `json:"flags,omitempty"` // of the fatbin entry header
	Offset int64  `json:"offset"`          // of the entry or of the raw object, in the file
	Size   int64  `json:"size"`            // stored bytes
	// Toolkit is the CUDA release whose compiler made the code, where the
	// code says so.
	Toolkit string `json:"toolkit,omitempty"`
	// Relocatable marks a cubin that the driver cannot load (ET_REL).
	Relocatable bool `json:"relocatable,omitempty"`
	// Empty marks a cubin with neither code nor data, such as the stub that the
	// device linker adds.
	Empty bool `json:"empty,omitempty"`
	// Foreign says why the entry is not for this host: "32-bit", "windows", "mac".
	Foreign string `json:"foreign,omitempty"`
	// Opaque says why the entry cannot be judged: "obfuscated", "index", …
	Opaque string `json:"opaque,omitempty"`
	// Section is the ELF section of loose code.
	Section string `json:"section,omitempty"`
}

// Link is one symbolic link.
type Link struct {
	Path   string `json:"path"`
	Target string `json:"target"`
	Layer  int    `json:"layer"`
}

// Text is a small text file: the configuration of ldconfig, or the search path of musl.
type Text struct {
	Path    string `json:"path"`
	Layer   int    `json:"layer"`
	Content string `json:"content"`
}

// Manager is a package manager.
type Manager string

// The package managers.
const (
	ManagerDeb    Manager = "deb"
	ManagerPython Manager = "python"
	ManagerConda  Manager = "conda"
)

// Package is a package that a package manager has installed, by its own notes.
type Package struct {
	Manager Manager `json:"manager"`
	Name    string  `json:"name,omitempty"`
	Version string  `json:"version,omitempty"`
	// Path is the file that says so, and Layer the layer that brought it.
	Path  string `json:"path"`
	Layer int    `json:"layer"`
	// Files are the libraries of the CUDA world that it owns.
	Files []string `json:"files,omitempty"`
	// Requires are NVIDIA's packages that it asks for, as in "nvidia-cudnn-cu12==9.10.2.21".
	Requires []string `json:"requires,omitempty"`
	// Damage says why the rest of the file was not read. Versions of packages that it may
	// name are not known.
	Damage string `json:"damage,omitempty"`
}

// Unread is a file or part of a file that was not read, with the reason.
type Unread struct {
	Path   string `json:"path"`
	Layer  int    `json:"layer"`
	Reason string `json:"reason"`
}
