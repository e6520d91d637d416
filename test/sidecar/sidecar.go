// Package sidecar plays config management plugins for tests: gRPC servers on sockets, made with the library that stock
// sidecars are made with, well behaved and otherwise. It must not share code with the product, whose mistakes it would
// repeat.
package sidecar

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// Plugin is one to play.
type Plugin struct {
	// Dir is the folder of the sockets, and Name that of the plugin's own, without its ending.
	Dir, Name string
	// Matches is a file by whose presence the plugin knows what it is for; without one it does not tell.
	Matches string
	// WantsCredentials says that it asks for those of the repository.
	WantsCredentials bool
	// Old says that it does not know the question how it is configured.
	Old bool
	// Do is what it does when it is to make manifests: see generate.
	Do string
	// Say is the text of an error or of a manifest; before the text of an error there is as much else as Before says.
	Say    string
	Before int
}

// The things that a Plugin does.
const (
	// Render prints the YAML files of the application's folder, with the variables in them replaced.
	Render = ""
	// Echo prints a ConfigMap with what was received, as JSON.
	Echo = "echo"
	// Fail ends with an error.
	Fail = "fail"
	// Hang never ends.
	Hang = "hang"
	// Endless answers and answers.
	Endless = "endless"
	// Large answers with 3 MiB of manifests.
	Large = "large"
	// LargeOne answers with one manifest of 3 MiB.
	LargeOne = "large one"
	// Garbage answers with bytes that are no message.
	Garbage = "garbage"
	// Text answers with what Say has.
	Text = "text"
	// Die ends the process in the middle of what it is sent.
	Die = "die"
	// Noise does not speak gRPC.
	Noise = "noise"
	// Deaf does not speak at all.
	Deaf = "deaf"
)

// variable names the environment variable by which a test's own program becomes a plugin.
const variable = "TOWLINE_TEST_SIDECAR"

// Main makes this process a plugin if it is to be one, and says then what it ends with. TestMain calls it first.
func Main(ctx context.Context) (code int, plugin bool) {
	text := os.Getenv(variable)
	if text == "" {
		return 0, false
	}
	ctx, cancel := context.WithCancel(ctx)
	// It ends with the test that started it: then the pipe breaks.
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		cancel()
	}()
	var p Plugin
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.Serve(ctx, func() { fmt.Fprintln(os.Stdout, "ready") })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// Start plays the plugin in a process of its own until the test ends.
func (p Plugin) Start(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), variable+"="+string(text))
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait()
	})
	if _, err := output.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the plugin did not start: %v", err)
	}
}

// Serve plays the plugin here until the context ends. ready is called when it listens.
func (p Plugin) Serve(ctx context.Context, ready func()) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", filepath.Join(p.Dir, p.Name+".sock"))
	if err != nil {
		return err
	}
	if p.Do == Noise || p.Do == Deaf {
		ready()
		return p.mumble(ctx, listener)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(asIs{}), grpc.MaxRecvMsgSize(100<<20), grpc.MaxSendMsgSize(100<<20))
	server.RegisterService(p.service(), nil)
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	ready()
	return server.Serve(listener)
}

// mumble accepts connections and makes nothing of them.
func (p Plugin) mumble(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		connection, err := listener.Accept()
		if err != nil {
			return nil //nolint:nilerr // it was closed
		}
		go func() {
			for p.Do == Noise {
				if _, err := connection.Write([]byte("this is not HTTP\r\n\r\n")); err != nil {
					return
				}
			}
			<-ctx.Done()
			_ = connection.Close()
		}()
	}
}

func (p Plugin) service() *grpc.ServiceDesc {
	stream := func(name string, handle func(grpc.ServerStream) error) grpc.StreamDesc {
		return grpc.StreamDesc{StreamName: name, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error { return handle(s) }}
	}
	desc := &grpc.ServiceDesc{
		ServiceName: "plugin.ConfigManagementPluginService", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{
			stream("GenerateManifest", p.generate), stream("MatchRepository", p.match), stream("GetParametersAnnouncement", p.announce),
		},
	}
	if p.Old {
		return desc
	}
	desc.Methods = []grpc.MethodDesc{{
		MethodName: "CheckPluginConfiguration",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			return p.check(decode)
		},
	}}
	return desc
}

func appendBool(out raw, n protowire.Number, is bool) raw {
	return protowire.AppendVarint(protowire.AppendTag(out, n, protowire.VarintType), protowire.EncodeBool(is))
}

func appendText(out raw, n protowire.Number, text string) raw {
	return protowire.AppendString(protowire.AppendTag(out, n, protowire.BytesType), text)
}

func (p Plugin) check(decode func(any) error) (any, error) {
	var m raw
	if err := decode(&m); err != nil {
		return nil, err
	}
	out := appendBool(appendBool(nil, 1, p.Matches != ""), 2, p.WantsCredentials)
	return &out, nil
}

func (p Plugin) match(s grpc.ServerStream) error {
	received, err := receive(s.RecvMsg)
	if err != nil {
		return err
	}
	_, matches := received.Files[path.Join(received.Path, p.Matches)]
	out := appendBool(nil, 1, matches)
	return s.SendMsg(&out)
}

// announce says that the plugin takes a text, a list and a map.
func (p Plugin) announce(s grpc.ServerStream) error {
	if _, err := receive(s.RecvMsg); err != nil {
		return err
	}
	text := appendText(appendText(appendBool(appendText(appendText(nil, 1, "level"), 2, "Level"), 4, true), 5, "number"), 7, "3")
	list := appendText(appendText(appendText(appendText(nil, 1, "hosts"), 6, "array"), 8, "a"), 8, "b")
	entry := appendText(appendText(nil, 1, "k"), 2, "v")
	labels := protowire.AppendBytes(protowire.AppendTag(appendText(appendText(nil, 1, "labels"), 6, "map"), 9, protowire.BytesType), entry)
	var out raw
	for _, parameter := range []raw{text, list, labels} {
		out = protowire.AppendBytes(protowire.AppendTag(out, 1, protowire.BytesType), parameter)
	}
	return s.SendMsg(&out)
}

func manifests(texts ...string) *raw {
	var out raw
	for _, text := range texts {
		out = appendText(out, 1, text)
	}
	out = appendText(out, 2, "Plugin")
	return &out
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {text: %s}\n"

// generate makes manifests, or harm.
func (p Plugin) generate(s grpc.ServerStream) error {
	if p.Do == Die {
		var m raw
		_ = s.RecvMsg(&m)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	received, err := receive(s.RecvMsg)
	if err != nil {
		return err
	}
	switch p.Do {
	case Echo:
		text, err := json.Marshal(received)
		if err != nil {
			return err
		}
		quoted, err := json.Marshal(string(text))
		if err != nil {
			return err
		}
		return s.SendMsg(manifests(fmt.Sprintf(configMap, "received", quoted)))
	case Fail:
		return status.Error(codes.Unknown, strings.Repeat("x", p.Before)+p.Say)
	case Hang:
		<-s.Context().Done()
		time.Sleep(time.Second)
		return s.Context().Err()
	case Endless:
		for {
			if err := s.SendMsg(manifests(fmt.Sprintf(configMap, "a", strings.Repeat("x", 1<<20)))); err != nil {
				return err
			}
		}
	case Large:
		one := fmt.Sprintf(configMap, "a", strings.Repeat("x", 1<<20))
		return s.SendMsg(manifests(one, one, one))
	case LargeOne:
		return s.SendMsg(manifests(fmt.Sprintf(configMap, "a", strings.Repeat("x", 3<<20))))
	case Garbage:
		return s.SendMsg(&raw{0xff, 0xff, 0xff, 0xff})
	case Text:
		return s.SendMsg(manifests(p.Say))
	}
	return s.SendMsg(manifests(received.rendered()...))
}

// rendered are the YAML files of the application's folder, with variables replaced.
func (r *Received) rendered() []string {
	values := map[string]string{}
	for _, v := range r.Variables {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	var names []string
	for name := range r.Files {
		if path.Dir(name) == r.Path && path.Ext(name) == ".yaml" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []string
	for _, name := range names {
		out = append(out, os.Expand(r.Files[name], func(name string) string { return values[name] }))
	}
	return out
}
