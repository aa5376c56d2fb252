package cache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// grow counts what was put. The directory is listed at first, and again only when
// it is too large.
func (d *Dir) grow(n int64) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.size += n
	if d.listed && d.size <= d.max {
		return nil
	}
	d.size, err = d.trim()
	d.listed = err == nil
	return err
}

// trim removes what processes that were killed left behind, and the entries that were not
// used for longest where there are too many. Another process may do the same:
// what is gone already is no error. It returns the size of what is left.
func (d *Dir) trim() (int64, error) {
	files, total, err := d.list()
	if err != nil {
		return 0, err
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	excess := int64(0)
	if total > d.max {
		excess = total - d.max/10*9
	}
	for _, f := range files {
		left := strings.HasPrefix(f.Name(), tempPrefix)
		switch {
		case left && d.now().Sub(f.ModTime()) < tempAge:
			continue // somebody is writing it
		case !left && excess <= 0:
			continue
		}
		if err := os.Remove(filepath.Join(d.path, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		excess -= f.Size()
		total -= f.Size()
	}
	return total, nil
}

// list returns the files of the cache and their size together.
func (d *Dir) list() (files []fs.FileInfo, total int64, err error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		files = append(files, info)
		total += info.Size()
	}
	return files, total, nil
}

// Clean removes all entries and nothing else, and says how many and how large
// they were.
func (d *Dir) Clean() (files int, size int64, err error) {
	all, size, err := d.list()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	for _, f := range all {
		if err := os.Remove(filepath.Join(d.path, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, size, err
		}
		files++
	}
	return files, size, errors.Join(os.Remove(d.path))
}
