package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/golden"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/imagetest"
)

const sampleFolder = "../../testdata/sample"

// TestSample keeps the sample image of the documentation equal to its recipe.
func TestSample(t *testing.T) {
	recipe, err := os.ReadFile(filepath.Join(sampleFolder, "recipe.txt"))
	require.NoError(t, err)
	img, err := imagetest.Parse(string(recipe), sampleFolder)
	require.NoError(t, err)
	archive, err := img.Archive()
	require.NoError(t, err)
	require.Less(t, len(archive), 200_000)
	golden.Check(t, filepath.Join(sampleFolder, "app.tar"), archive)
}
