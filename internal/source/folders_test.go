package source

import (
	"fmt"
	"testing"
)

// Folders are known by their repository, and those that nobody used for the longest time make room.
func TestFolders(t *testing.T) {
	var f folders
	big := make([]entry, folderRoom/4)
	put := func(dir string, i int) {
		f.put(&listing{key: folderKey{dir: dir, hash: fmt.Sprint(i)}, entries: big})
	}
	for i := range 3 {
		put("a", i)
	}
	if _, ok := f.get("b", "0"); ok {
		t.Error("a folder of one repository was found in another")
	}
	if _, ok := f.get("a", "0"); !ok {
		t.Error("a folder was forgotten while there was room")
	}
	put("a", 3)
	for i, want := range []bool{true, false, true, true} {
		if _, ok := f.get("a", fmt.Sprint(i)); ok != want {
			t.Errorf("folder %d is kept: %t, want %t", i, ok, want)
		}
	}
	f.put(&listing{key: folderKey{hash: "huge"}, entries: make([]entry, folderRoom)})
	if _, ok := f.get("", "huge"); ok {
		t.Error("a folder that takes all the room was kept")
	}
	if f.room < 0 || len(f.kept) != f.order.Len() {
		t.Errorf("%d names too many, %d folders in the map, %d in the list", -f.room, len(f.kept), f.order.Len())
	}
}
