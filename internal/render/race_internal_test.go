//go:build race

package render

// raced says that the tests run with the race detector, under which parsing megabytes takes a minute.
const raced = true
