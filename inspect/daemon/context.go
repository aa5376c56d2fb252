package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile is the largest file of the docker configuration that is read, in bytes.
const maxFile = 4 << 20

// configuration is the directory of the docker configuration, or "" if there is none.
func configuration() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".docker")
}

// currentContext returns the host of the docker context that is in use. It is not ok if that
// is the default one, which has none.
func currentContext() (h host, ok bool, err error) {
	name, source := os.Getenv("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	if dir := configuration(); name == "" && dir != "" {
		source = filepath.Join(dir, "config.json")
		if name, err = contextOf(source); err != nil {
			return host{}, false, fmt.Errorf("the docker configuration %w; mend it, or set DOCKER_HOST", err)
		}
	}
	if name == "" || name == "default" {
		return host{}, false, nil
	}
	h, err = contextHost(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no such context; docker context ls lists them")
	}
	if err != nil {
		return host{}, false, fmt.Errorf("docker context %q of %s: %w", name, source, err)
	}
	return h, true, nil
}

// contextOf returns the name of the context that config.json chooses. The file need not exist.
func contextOf(path string) (string, error) {
	var config struct{ CurrentContext string }
	err := readJSON(path, &config)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return config.CurrentContext, err
}

// contextHost reads a context where docker keeps it: in directories named after the SHA-256 of
// its name (docker CLI, package cli/context/store).
func contextHost(name string) (host, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	dir := filepath.Join(configuration(), "contexts")
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err := readJSON(filepath.Join(dir, "meta", id, "meta.json"), &meta); err != nil {
		return host{}, err
	}
	endpoint, ok := meta.Endpoints["docker"]
	if !ok || endpoint.Host == "" {
		return host{}, errors.New("it names no docker daemon")
	}
	h := host{address: endpoint.Host, source: fmt.Sprintf("docker context %q", name)}
	files := tlsFiles(filepath.Join(dir, "tls", id, "docker"))
	if !endpoint.SkipTLSVerify && !files.any() {
		return h, nil
	}
	config, err := files.config(endpoint.SkipTLSVerify)
	h.tls = config
	return h, err
}

func readJSON(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return nil
}
