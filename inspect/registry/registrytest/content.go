package registrytest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// PutBlob stores a blob in a registry and returns its descriptor. It panics if
// the registry refuses.
func PutBlob(registry http.Handler, repo string, content []byte) v1.Descriptor {
	d := describe(types.OCILayer, content)
	put(registry, http.MethodPost, "/v2/"+repo+"/blobs/uploads/?digest="+d.Digest.String(), "application/octet-stream", content)
	return d
}

// PutManifest stores a manifest in a registry under a tag or a digest and
// returns its descriptor. It panics if the registry refuses.
func PutManifest(registry http.Handler, repo, reference string, media types.MediaType, content []byte) v1.Descriptor {
	d := describe(media, content)
	put(registry, http.MethodPut, "/v2/"+repo+"/manifests/"+reference, string(media), content)
	return d
}

func describe(media types.MediaType, content []byte) v1.Descriptor {
	h, n, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		panic(err) // a reader of bytes does not fail
	}
	return v1.Descriptor{MediaType: media, Digest: h, Size: n}
}

func put(registry http.Handler, method, path, media string, content []byte) {
	req := httptest.NewRequest(method, path, bytes.NewReader(content))
	req.Header.Set("Content-Type", media)
	w := httptest.NewRecorder()
	registry.ServeHTTP(w, req)
	if w.Code >= 300 {
		panic(fmt.Sprintf("%s %s: %d %s", method, path, w.Code, w.Body))
	}
}
