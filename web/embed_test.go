//go:build !noui

package web

import (
	"io/fs"
	"strings"
	"testing"
)

// Whether somebody built the UI or not there is a page, and it says where it lives in the words that the server looks for.
func TestThereIsAlwaysAPage(t *testing.T) {
	for name, files := range map[string]fs.FS{"built": Files(), "unbuilt": below("dist/unbuilt")} {
		page, err := fs.ReadFile(files, "index.html")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), `<base href="/" />`) {
			t.Errorf("the server cannot tell the page where it lives: %s:\n%s", name, page)
		}
		if strings.Contains(string(page), "<style") || strings.Contains(string(page), "<script>") {
			t.Errorf("the page has what the security policy forbids: %s:\n%s", name, page)
		}
	}
}
