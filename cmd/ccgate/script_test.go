package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/golden"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/imagetest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ccgate": main})
}

// TestScript runs the scripts of testdata/script. Beside the commands of testscript
// they have:
//
//	exits STATUS COMMAND...   the command ends with this status
//	image ARCHIVE RECIPE      writes an image (imagetest.Parse)
//	daemon NAME ARCHIVE       starts a container daemon that has this image
//	schema NAME FILE          FILE is valid by docs/schema/NAME.json
//	edit FILE KEY VALUE       sets a key at the top of a JSON file
//
// $ROOT is the root of the repository.
func TestScript(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       golden.Update(),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			env.Setenv("CCGATE_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "image": image, "daemon": daemon, "schema": schema, "edit": edit,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func image(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: image ARCHIVE RECIPE")
	}
	img, err := imagetest.Parse(ts.ReadFile(args[1]), filepath.Join(ts.Getenv("ROOT"), "testdata"))
	ts.Check(err)
	archive, err := img.Archive()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), archive, 0o644))
}

func schema(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: schema NAME FILE")
	}
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(ts.Getenv("ROOT"), "docs", "schema", args[0]+".json"))
	ts.Check(err)
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &v))
	err = s.Validate(v)
	switch {
	case neg && err == nil:
		ts.Fatalf("%s is valid by %s", args[1], args[0])
	case !neg:
		ts.Check(err)
	}
}

func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE KEY VALUE")
	}
	var v map[string]json.RawMessage
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	v[args[1]] = json.RawMessage(args[2])
	raw, err := json.Marshal(v)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw, 0o644))
}
