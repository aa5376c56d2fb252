// Package inspect reads container images, root file systems and their layers
// and says what they hold, as plain data of package facts.
//
// The flow is: [ParseReference] tells what a string names; [Open] resolves it
// to the manifests, configurations and layers behind it; [Image] has package
// layer walk every layer once as a stream, with a scanner for each file, and merges
// what the layers brought into the file system that a container would see.
//
// Nothing is written to disk and nothing from an image is executed or used as
// a path on the host. Every blob is hashed to its last byte and compared with
// the digest and size that its manifest states before a fact from it is
// returned. Layer semantics follow the OCI image specification v1.1,
// "Image Layer Filesystem Changeset".
//
// Limits: foreign and encrypted layers are reported as unread. Where a manifest
// gives the digest of a layer, its diffID is not compared.
package inspect
