package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
)

// maxPacked is how deep packed charts may hold packed charts.
const maxPacked = 8

// unpack puts the files of packed subcharts in their place. Helm would unpack each under a bound of its own; here one
// bound holds for all, however they are nested.
func (r *reader) unpack(files []*archive.BufferedFile, depth int) ([]*archive.BufferedFile, error) {
	var out []*archive.BufferedFile
	for _, file := range files {
		if !packed(file.Name) {
			out = append(out, file)
			continue
		}
		if depth == maxPacked {
			return nil, fmt.Errorf("%s: packed charts hold packed charts more than %d deep", file.Name, maxPacked)
		}
		inner, err := r.archive(file.Data)
		if err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", file.Name, err)
		}
		inner, err = r.unpack(inner, depth+1)
		if err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", file.Name, err)
		}
		for _, member := range inner {
			// The folder's name is read by nobody: a chart is called what its Chart.yaml says.
			member.Name = file.Name + ".unpacked/" + member.Name
			out = append(out, member)
		}
	}
	return out, nil
}

// packed reports whether a file is a packed subchart of the chart, or of a subchart that is a folder.
func packed(name string) bool {
	dir, base := path.Split(name)
	if path.Ext(base) != ".tgz" || strings.IndexAny(base, "_.") == 0 {
		return false
	}
	parts := strings.Split(strings.TrimSuffix(dir, "/"), "/")
	for i, part := range parts {
		if i%2 == 0 && part != "charts" {
			return false
		}
	}
	return len(parts)%2 == 1
}

// archive reads a packed chart; its first folder is named after the chart and means nothing.
func (r *reader) archive(data []byte) ([]*archive.BufferedFile, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var files []*archive.BufferedFile
	for members := tar.NewReader(unzipped); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if header.FileInfo().IsDir() || header.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, err := memberName(header.Name)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(members, r.left+1))
		if err != nil {
			return nil, err
		}
		if err := r.spend(len(content)); err != nil {
			return nil, err
		}
		files = append(files, &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(content, byteOrderMark)})
	}
	if len(files) == 0 {
		return nil, errors.New("it holds no files")
	}
	return files, nil
}

func memberName(written string) (string, error) {
	_, name, ok := strings.Cut(strings.ReplaceAll(written, `\`, "/"), "/")
	if !ok {
		return "", fmt.Errorf("%q is not in the folder of the chart", written)
	}
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("%q leads out of the chart", written)
	}
	return clean, nil
}
