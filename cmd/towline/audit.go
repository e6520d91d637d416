package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/ledger"
)

// ledgerOptions are the flags of the audit log.
type ledgerOptions struct {
	path string
	size int64
	keep int
}

// The words that stand for no folder.
const (
	toOutput  = "-"
	toNowhere = "off"
)

func (o *ledgerOptions) flags(f *pflag.FlagSet, r role) {
	usual := ""
	about := "folder of the audit log, which must not be lost; - is standard output, off is none (default: audit in --data)"
	if !r.controller {
		usual, about = toOutput, "folder of the audit log, which must not be lost; - is standard output, off is none"
	}
	f.StringVar(&o.path, "audit-log", usual, about)
	f.Int64Var(&o.size, "audit-log-size", 64<<20, "from how many bytes on a file of the audit log is followed by another")
	f.IntVar(&o.keep, "audit-log-keep", 16, "how many files of the audit log there are before the oldest goes; 0 is any number")
}

// open opens the audit log. data is the folder that is ours alone, if there is one.
func (o ledgerOptions) open(data string) (*ledger.Ledger, error) {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	options := ledger.Options{Size: o.size, Keep: o.keep, Process: name + "/" + strconv.Itoa(os.Getpid()), Now: time.Now}
	switch o.path {
	case toNowhere:
		return ledger.To(io.Discard, options), nil
	case toOutput:
		return ledger.To(os.Stdout, options), nil
	case "":
		o.path = filepath.Join(data, "audit")
	}
	l, err := ledger.Open(o.path, options)
	if err != nil {
		return nil, fmt.Errorf("%w; --audit-log says where it is kept", err)
	}
	slog.Info("audit log goes on", "folder", o.path, "head", l.Head().String())
	return l, nil
}

// closeLedger says how the log ends: whoever keeps this line can tell later that the log was not cut off.
func (p *parts) closeLedger() {
	if p.ledger == nil {
		return
	}
	if err := p.ledger.Close(); err != nil {
		slog.Error("the audit log could not be closed", "error", err)
	}
	slog.Info("audit log ends", "head", p.ledger.Head().String())
}

// withLedger lets the command line read audit logs.
func withLedger(e *cli.Env) {
	e.Journal = func(path string, see func(journal.Record), heads ...journal.Head) (*journal.Check, error) {
		return ledger.Read(path, e.In, see, heads...)
	}
	e.JournalFolder = func() string {
		cache, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		return filepath.Join(cache, "towline", "data", "audit")
	}
}
