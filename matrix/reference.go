package matrix

import (
	_ "embed" // the fleet files and the schema
	"slices"
)

//go:embed reference.toml
var referenceTOML []byte

//go:embed starter.toml
var starterTOML []byte

//go:embed ccgate.schema.json
var fleetSchema []byte

// StarterFleet is a commented fleet file to begin with.
func StarterFleet() []byte { return slices.Clone(starterTOML) }

// FleetSchema is the JSON Schema (draft-04) of fleet files, for editors.
func FleetSchema() []byte { return slices.Clone(fleetSchema) }
