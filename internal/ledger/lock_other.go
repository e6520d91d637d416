//go:build !unix

package ledger

import "os"

// lock does nothing where there are no such locks: there nobody runs more than one.
func lock(*os.File) error { return nil }
