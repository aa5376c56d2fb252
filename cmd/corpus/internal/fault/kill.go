package fault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Killer kills ccgate while it reads an image.
type Killer struct {
	Program string // ccgate
	Image   string // reference
	Count   int
	Seed    uint64
}

// Run kills cold runs at random moments. It is an error if one leaves something in the
// directory for temporary files, or if the next run, with the same cache, reads something
// else than a run that was left in peace.
func (k *Killer) Run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "kill-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	start := time.Now()
	want, err := k.inspect(ctx, filepath.Join(dir, "peace"))
	if err != nil {
		return err
	}
	took := time.Since(start)
	r := rand.New(rand.NewPCG(k.Seed, 0))
	killed, kept := 0, 0
	for n := range k.Count {
		home := filepath.Join(dir, fmt.Sprint(n))
		at := time.Duration(r.Int64N(int64(took)))
		hit, err := k.kill(ctx, home, at)
		if err != nil {
			return fmt.Errorf("run %d, killed after %v: %w", n, at, err)
		}
		left, err := files(filepath.Join(home, "cache"))
		if err != nil {
			return err
		}
		if hit {
			killed++
		}
		if left > 0 {
			kept++
		}
		got, err := k.inspect(ctx, home)
		if err != nil {
			return fmt.Errorf("run %d, after the one that was killed after %v: %w", n, at, err)
		}
		if !bytes.Equal(want, got) {
			return fmt.Errorf("run %d, after the one that was killed after %v, reads something else", n, at)
		}
		if err := os.RemoveAll(home); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d runs of %v with seed %d: %d killed before their end, %d with something in the cache; nothing left behind, the next run right\n", k.Count, took.Round(time.Millisecond), k.Seed, killed, kept)
	return nil
}

// command is a run with a cache and a directory for temporary files below home.
func (k *Killer) command(ctx context.Context, home string) (*exec.Cmd, error) {
	if err := os.MkdirAll(filepath.Join(home, "tmp"), 0o700); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, k.Program, "inspect", "--format", "json", k.Image)
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp"), "CCGATE_CACHE_DIR=" + filepath.Join(home, "cache")}
	return cmd, nil
}

func (k *Killer) inspect(ctx context.Context, home string) ([]byte, error) {
	cmd, err := k.command(ctx, home)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Program, err)
	}
	return out, k.clean(home)
}

// kill starts a run and kills it after a while. It reports whether that was before its end.
func (k *Killer) kill(ctx context.Context, home string, after time.Duration) (bool, error) {
	cmd, err := k.command(ctx, home)
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
	err = cmd.Wait()
	timer.Stop()
	return err != nil, k.clean(home)
}

// clean is an error if there are temporary files.
func (k *Killer) clean(home string) error {
	n, err := files(filepath.Join(home, "tmp"))
	if err == nil && n > 0 {
		err = fmt.Errorf("%d files are left in the directory for temporary files", n)
	}
	return err
}

// files counts the files below a directory, which need not exist.
func files(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err == nil && !d.IsDir():
			n++
		}
		return err
	})
	return n, err
}
