package main

import (
	"runtime"
	"runtime/debug"

	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/server"
)

// version is set by the linker.
var version = "dev"

// serverVersion is what the server tells of this build. What it was built from is known where that was a clone: the date is
// that of the commit, because the same commit gives the same program.
func serverVersion() server.Version {
	v := server.Version{
		Version: version, GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	built, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range built.Settings {
		switch s.Key {
		case "vcs.revision":
			v.GitCommit = s.Value
		case "vcs.time":
			v.BuildDate = s.Value
		case "vcs.modified":
			v.GitTreeState = map[string]string{"true": "dirty", "false": "clean"}[s.Value]
		}
	}
	return v
}

// clientVersion is the same, as far as the command line tells it.
func clientVersion() login.Release {
	v := serverVersion()
	return login.Release{Version: v.Version, GitCommit: v.GitCommit, GoVersion: v.GoVersion, Platform: v.Platform}
}
