package render

import (
	"bytes"
	"errors"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
)

// scrub hides what stands in Secrets from what a render says: parsers quote what they do not understand.
func scrub(trees manifest.Trees, result manifest.Result, err error) (manifest.Result, error) {
	if err == nil && len(result.Skipped) == 0 && len(result.Notes) == 0 {
		return result, nil
	}
	files := secretFiles(trees)
	if len(files) == 0 {
		return result, err
	}
	for _, texts := range [][]string{result.Skipped, result.Notes} {
		for i := range texts {
			texts[i] = object.Scrub(texts[i], files...)
		}
	}
	if err == nil {
		return result, nil
	}
	text := object.Scrub(err.Error(), files...)
	if text == err.Error() {
		return result, err
	}
	return result, reworded(err, text)
}

// reworded is an error of the same class in other words, and without those that it wraps.
func reworded(err error, text string) error {
	worded := &remoteError{text: text}
	if remote, ok := errors.AsType[*remoteError](err); ok {
		worded.id = remote.id
	}
	classified, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return worded
	}
	return &fault.Error{Class: classified.Class, Reason: classified.Reason, Fields: classified.Fields, Err: worded}
}

// secretFiles are the files that a render read and that hold Secrets.
func secretFiles(trees manifest.Trees) [][]byte {
	var files [][]byte
	for _, of := range trees {
		tree, ok := of.(*tree)
		if !ok {
			continue
		}
		for q, a := range tree.known {
			if q.op == opFile && bytes.Contains(a.content, []byte("Secret")) {
				files = append(files, a.content)
			}
		}
	}
	return files
}
