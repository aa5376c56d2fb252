// Package reports holds acceptance tests after public reports of images that failed, or that
// work and were suspected: each is an image with the traces that the report tells of, built
// from a recipe, with the verdict that would have helped. File names begin with the project and
// number of the report; those that begin with "works" are images that must not fail.
package reports
