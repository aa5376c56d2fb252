package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// daemon serves an archive under a name as a container daemon does. The path of a socket has
// to be short, so it is elsewhere, and DOCKER_HOST says where. The image cut:1 ends in the
// middle, and the daemon fails to save full:1.
func daemon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: daemon NAME ARCHIVE")
	}
	dir, err := os.MkdirTemp("", "d")
	ts.Check(err)
	ts.Defer(func() { os.RemoveAll(dir) })
	archive, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_ping", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /images/"+args[0]+"/get", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-tar")
		w.Write(archive) //nolint:errcheck // the client notices
	})
	mux.HandleFunc("GET /images/cut:1/get", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(archive[:len(archive)/2])     //nolint:errcheck // the client notices
		http.NewResponseController(w).Flush() //nolint:errcheck // the client notices
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("GET /images/full:1/get", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"no space left on device"}`, http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /images/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"reference does not exist"}`, http.StatusNotFound)
	})
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	ts.Check(err)
	s := &http.Server{Handler: mux}
	go s.Serve(l) //nolint:errcheck // it ends when it is closed
	ts.Defer(func() { s.Close() })
	ts.Setenv("DOCKER_HOST", "unix://"+socket)
}
