package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
)

// apt is a private state of apt-get, beside that of the machine: the mirror is the
// one that the machine uses, the suites and components are those the manifest needs.
type apt struct {
	dir    string
	mirror string
	ready  map[string]bool // "suite component"
}

func newApt(ctx context.Context, cache string) (*apt, error) {
	mirror, err := debianMirror(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(cache, "apt-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, d := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	config := fmt.Sprintf(`Dir::State %q;
Dir::State::status %q;
Dir::Cache %q;
Dir::Etc::sourcelist %q;
Dir::Etc::sourceparts "-";
APT::Architecture "amd64";
APT::Sandbox::User "root";
Acquire::Retries "3";
Acquire::Languages "none";
`, filepath.Join(dir, "state"), filepath.Join(dir, "status"), filepath.Join(dir, "cache"), filepath.Join(dir, "sources.list"))
	return &apt{dir, mirror, map[string]bool{}}, errors.Join(
		os.WriteFile(filepath.Join(dir, "apt.conf"), []byte(config), 0o644),
		os.WriteFile(filepath.Join(dir, "status"), nil, 0o644))
}

// debianMirror is the mirror that apt is set up to use.
func debianMirror(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("apt-get indextargets: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) == 4 && f[0] == "Debian" && f[1] == "Debian" && f[2] == "main" {
			return f[3], nil
		}
	}
	return "", errors.New("apt knows no Debian mirror here: run apt-get update first")
}

// use makes a suite known.
func (a *apt) use(ctx context.Context, suite, component string) error {
	key := suite + " " + component
	if a.ready[key] {
		return nil
	}
	a.ready[key] = true
	var list strings.Builder
	for k := range a.ready {
		fmt.Fprintf(&list, "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s\n", a.mirror, k)
	}
	if err := os.WriteFile(filepath.Join(a.dir, "sources.list"), []byte(list.String()), 0o644); err != nil {
		return err
	}
	if err := a.run(ctx, a.dir, "update", "--quiet"); err != nil {
		delete(a.ready, key)
		return err
	}
	return nil
}

func (a *apt) run(ctx context.Context, dir string, args ...string) error {
	return run(ctx, dir, []string{"APT_CONFIG=" + filepath.Join(a.dir, "apt.conf")}, "apt-get", args...)
}

func (a *apt) download(ctx context.Context, p *manifest.Package, dir string) error {
	if err := a.use(ctx, p.Suite, p.Component); err != nil {
		return err
	}
	if err := a.run(ctx, dir, "download", "--quiet", p.Name+"="+p.Version); err != nil {
		return err
	}
	// apt writes the colon of an epoch as %3a; the name is of no weight, but a plain
	// one is easier to use in a shell.
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(files) != 1 {
		return errors.Join(err, fmt.Errorf("apt-get left %d files", len(files)))
	}
	plain := strings.NewReplacer("%3a", "-", "%2b", "+", "~", "-").Replace(filepath.Base(files[0]))
	return os.Rename(files[0], filepath.Join(dir, plain))
}
