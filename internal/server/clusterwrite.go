package server

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/core/secret"
)

// GivenCluster is a cluster that somebody sends, login and all. What is secret in it is so from the moment that it is read.
type GivenCluster struct {
	Server           string            `json:"server"`
	Name             string            `json:"name,omitempty"`
	Config           GivenLogin        `json:"config"`
	Namespaces       []string          `json:"namespaces,omitempty"`
	ClusterResources bool              `json:"clusterResources,omitempty"`
	Shard            *Long             `json:"shard,omitempty"`
	Project          string            `json:"project,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	Annotations      map[string]string `json:"annotations,omitempty"`
}

// GivenLogin is how to sign in to a cluster.
type GivenLogin struct {
	Username           string      `json:"username,omitempty"`
	Password           secret.Text `json:"password,omitzero"`
	BearerToken        secret.Text `json:"bearerToken,omitzero"`
	TLSClientConfig    GivenTLS    `json:"tlsClientConfig"`
	AWSAuthConfig      *roster.AWS `json:"awsAuthConfig,omitempty"`
	ExecProviderConfig *GivenExec  `json:"execProviderConfig,omitempty"`
	DisableCompression bool        `json:"disableCompression,omitempty"`
	ProxyURL           string      `json:"proxyUrl,omitempty"`
}

// GivenTLS is whom to trust, and the certificate to sign in with.
type GivenTLS struct {
	Insecure   bool        `json:"insecure"`
	ServerName string      `json:"serverName,omitempty"`
	CAData     []byte      `json:"caData,omitempty"`
	CertData   []byte      `json:"certData,omitempty"`
	KeyData    EncodedText `json:"keyData,omitzero"`
}

// GivenExec is a program that signs in.
type GivenExec struct {
	Command            string            `json:"command,omitempty"`
	Args               []string          `json:"args,omitempty"`
	Env                map[string]string `json:"env,omitempty"`
	APIVersion         string            `json:"apiVersion,omitempty"`
	InstallHint        string            `json:"installHint,omitempty"`
	ProvideClusterInfo bool              `json:"provideClusterInfo,omitempty"`
}

// EncodedText is text that must not be seen and comes as base64.
type EncodedText struct{ secret.Text }

// UnmarshalJSON decodes it and hides it.
func (e *EncodedText) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return errors.New("it is no text")
	}
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return errors.New("it is not base64")
	}
	e.Text = secret.New(string(plain))
	return nil
}

func (g GivenCluster) cluster() roster.Cluster {
	l := g.Config
	out := roster.Cluster{
		Name: g.Name, Server: destination.Trim(g.Server), Namespaces: g.Namespaces, ClusterResources: g.ClusterResources,
		Project: g.Project, Labels: g.Labels, Annotations: g.Annotations,
		Config: roster.Config{
			Username: l.Username, Password: l.Password, BearerToken: l.BearerToken,
			TLS: roster.TLS{
				Insecure: l.TLSClientConfig.Insecure, ServerName: l.TLSClientConfig.ServerName, CAData: l.TLSClientConfig.CAData,
				CertData: l.TLSClientConfig.CertData, KeyData: l.TLSClientConfig.KeyData.Text,
			},
			AWS: l.AWSAuthConfig, DisableCompression: l.DisableCompression, ProxyURL: roster.ProxyURL(l.ProxyURL),
		},
	}
	if out.Name == "" {
		out.Name = out.Server
	}
	if g.Shard != nil {
		out.Shard = new(int64(*g.Shard))
	}
	if e := l.ExecProviderConfig; e != nil {
		out.Config.Exec = roster.NewExec(e.Command, e.Args, e.Env)
		out.Config.Exec.APIVersion, out.Config.Exec.InstallHint = e.APIVersion, e.InstallHint
		out.Config.Exec.ProvideClusterInfo = e.ProvideClusterInfo
	}
	return out
}

// hidden are the values that must not be told, whatever happens next.
func (g GivenCluster) hidden() []string {
	out := []string{g.Config.Password.Reveal(), g.Config.BearerToken.Reveal(), g.Config.TLSClientConfig.KeyData.Reveal()}
	if e := g.Config.ExecProviderConfig; e != nil {
		out = append(out, e.Args...)
		for _, v := range e.Env {
			out = append(out, v)
		}
	}
	if u, err := url.Parse(g.Config.ProxyURL); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			out = append(out, password)
		}
	}
	return out
}

// givenCluster reads the cluster that somebody sends.
func (r *Request) givenCluster() (GivenCluster, error) {
	var g GivenCluster
	if err := r.Body(&g); err != nil {
		return g, err
	}
	r.hide(g.hidden()...)
	if g.Project != "" {
		if err := wellNamed("project", g.Project); err != nil {
			return g, err
		}
	}
	for key := range g.Labels {
		if key == v1alpha1.LabelSecretType {
			return g, badRequest("labels cannot have " + key)
		}
	}
	for key := range g.Annotations {
		if key == v1alpha1.AnnotationLastAppliedByKubectl || key == v1alpha1.AnnotationManagedBy {
			return g, badRequest("annotations cannot have " + key)
		}
	}
	return g, nil
}

// serverURL says what is wrong with the address of a cluster.
func serverURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return badRequest("server is no URL like https://10.0.0.1:6443")
	}
	return nil
}

// findGivenCluster is for a cluster that the caller brings.
func (s *Server) findGivenCluster(req *Request) (Target, error) {
	g, err := req.givenCluster()
	if err != nil {
		return Target{}, err
	}
	if err := serverURL(g.Server); err != nil {
		return Target{}, err
	}
	return Target{Object: clusterObject(destination.Cluster{Server: destination.Trim(g.Server), Project: g.Project}), Found: true}, nil
}

// reachable signs in to a cluster before it is written down. One whose login only the controller can make is taken as it is.
func (s *Server) reachable(req *Request, c roster.Cluster) error {
	version, err := s.Writing.Clusters.Probe(req, c)
	if _, elsewhere := errors.AsType[*roster.ElsewhereError](err); elsewhere {
		return nil
	}
	if err != nil {
		return badRequest(req.hush(fmt.Sprintf("the cluster cannot be reached with this login: %v", err)))
	}
	req.note("serverVersion", version)
	return nil
}

// entry is a cluster of the list, by its server.
func (s *Server) entry(req *Request, server string) (roster.Entry, bool, error) {
	all, err := s.Writing.Clusters.Entries(req)
	if err != nil {
		return roster.Entry{}, false, err
	}
	i := slices.IndexFunc(all, func(e roster.Entry) bool { return destination.Key(e.Server) == destination.Key(server) })
	if i < 0 || all[i].Secret == "" {
		return roster.Entry{}, false, nil
	}
	return all[i], true, nil
}

func (s *Server) createCluster(req *Request) (any, error) {
	if s.Writing.Clusters == nil || s.Places == nil {
		return nil, absent("writing clusters")
	}
	g, err := req.givenCluster()
	if err != nil {
		return nil, err
	}
	c := g.cluster()
	// Whoever claims a cluster for a project needs the right on what it is now: the one that we run in needs no secret to be
	// there.
	for _, known := range s.Places.Clusters() {
		if destination.Key(known.Server) == destination.Key(c.Server) && !req.May("clusters", "update", clusterObject(known.Cluster)) {
			return nil, errDenied
		}
	}
	now, there, err := s.entry(req, c.Server)
	if err != nil {
		return nil, err
	}
	if there {
		at := clusterObject(destination.Cluster{Server: now.Server, Project: now.Project})
		switch {
		case !req.May("clusters", "update", at) || !req.May("clusters", "update", req.object):
			return nil, errDenied
		case !req.Flag("upsert"):
			if d := roster.Differences(now.Cluster, c); len(d) > 0 {
				return nil, badRequest(fmt.Sprintf("the cluster is there already and differs in %s; upsert=true changes it",
					strings.Join(d, ", ")))
			}
			return s.toldCluster(req, c.Server, anyPlace)
		}
	}
	edit := roster.Edit{}
	if there {
		edit, c = clusterEdit(g, now, func(string) bool { return true })
	}
	if err := s.reachable(req, c); err != nil {
		return nil, err
	}
	if there {
		err = s.Writing.Clusters.Edit(req, now.Secret, edit)
	} else {
		_, err = s.Writing.Clusters.Create(req, c)
	}
	if err != nil {
		return nil, errors.New(req.hush(err.Error()))
	}
	return s.toldCluster(req, c.Server, called(c.Name, c.Namespaces))
}

func anyPlace(Place) bool { return true }

// called says that a cluster has a name and namespaces.
func called(name string, namespaces []string) func(Place) bool {
	return func(c Place) bool {
		return c.Name == name && slices.Equal(c.Namespaces, slices.Compact(slices.Sorted(slices.Values(namespaces))))
	}
}

// toldCluster is a cluster that was written, when it can be read here too: when it is what is wanted.
func (s *Server) toldCluster(req *Request, server string, wanted func(Place) bool) (any, error) {
	var found Place
	s.settle(req, TopicClusters, func() bool {
		for _, c := range s.Places.Clusters() {
			if destination.Key(c.Server) == destination.Key(server) && c.Secret != "" {
				found = c
				return wanted(c)
			}
		}
		return false
	})
	if found.Server == "" {
		found.Server = server
	}
	return s.clusterOf(found), nil
}

// the fields of a cluster that an update may be limited to.
var clusterFields = []string{"name", "namespaces", "config", "shard", "clusterResources", "labels", "annotations", "project"}

func (s *Server) updateCluster(req *Request) (any, error) {
	if s.Writing.Clusters == nil {
		return nil, absent("writing clusters")
	}
	g, err := req.givenCluster()
	if err != nil {
		return nil, err
	}
	place, _ := req.found.(Place)
	if g.Server != "" && destination.Key(g.Server) != destination.Key(place.Server) {
		return nil, badRequest("the server of a cluster does not change; create another one")
	}
	only := req.List("updatedFields")
	for _, f := range only {
		if !slices.Contains(clusterFields, f) {
			return nil, badRequest(fmt.Sprintf("updatedFields knows no %q; it knows %s", f, strings.Join(clusterFields, ", ")))
		}
	}
	now, there, err := s.entry(req, place.Server)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, badRequest("the cluster has no secret that could be changed; create it first")
	}
	takes := func(f string) bool { return len(only) == 0 || slices.Contains(only, f) }
	edit, next := clusterEdit(g, now, takes)
	if takes("project") && g.Project != now.Project &&
		!req.May("clusters", "update", clusterObject(destination.Cluster{Server: now.Server, Project: g.Project})) {
		return nil, errDenied
	}
	if edit.Config != nil {
		if err := s.reachable(req, next); err != nil {
			return nil, err
		}
	}
	if err := s.Writing.Clusters.Edit(req, now.Secret, edit); err != nil {
		return nil, errors.New(req.hush(err.Error()))
	}
	return s.toldCluster(req, now.Server, called(next.Name, next.Namespaces))
}

// clusterEdit is what an update changes. Logins are never told, so that who sends none back means the one that there is.
func clusterEdit(g GivenCluster, now roster.Entry, takes func(string) bool) (roster.Edit, roster.Cluster) {
	wanted := g.cluster()
	if g.Name == "" {
		wanted.Name = now.Name
	}
	whole, out := roster.Whole(wanted), roster.Edit{}
	next := now.Cluster
	if takes("name") {
		out.Name, next.Name = whole.Name, wanted.Name
	}
	if takes("namespaces") {
		out.Namespaces, next.Namespaces = whole.Namespaces, wanted.Namespaces
	}
	if takes("clusterResources") {
		out.ClusterResources, next.ClusterResources = whole.ClusterResources, wanted.ClusterResources
	}
	if takes("shard") {
		out.Shard = whole.Shard
	}
	if takes("project") {
		out.Project, next.Project = whole.Project, wanted.Project
	}
	if takes("labels") {
		out.Labels = whole.Labels
	}
	if takes("annotations") {
		out.Annotations = whole.Annotations
	}
	if takes("config") && wanted.Config.Login() != "none" {
		out.Config, next.Config = whole.Config, wanted.Config
	}
	return out, next
}

func (s *Server) deleteCluster(req *Request) (any, error) {
	if s.Writing.Clusters == nil {
		return nil, absent("deleting clusters")
	}
	place, _ := req.found.(Place)
	now, there, err := s.entry(req, place.Server)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, badRequest(fmt.Sprintf("the cluster has no secret that could be deleted; %s of %s turns off the one that we run in",
			v1alpha1.KeyInClusterEnabled, v1alpha1.ConfigMapSettings))
	}
	deleted, err := s.Writing.Clusters.Remove(req, now)
	if err != nil {
		return nil, err
	}
	req.note("secretDeleted", deleted)
	s.settle(req, TopicClusters, func() bool {
		return !slices.ContainsFunc(s.Places.Clusters(), func(c Place) bool { return c.Secret == now.Secret })
	})
	return nothing{}, nil
}

// rotateAuth is refused by name: a new token is made with rights in the cluster that the hub need not have.
func (s *Server) rotateAuth(*Request) (any, error) {
	return nil, &Fault{
		Code: Unimplemented, Message: "this server does not make new logins of clusters; `towline --core cluster rotate-auth` does, " +
			"with your kubeconfig",
	}
}

// invalidateCache has a cluster read anew.
func (s *Server) invalidateCache(req *Request) (any, error) {
	if s.Writing.Clusters == nil {
		return nil, absent("reading a cluster anew")
	}
	place, _ := req.found.(Place)
	now, there, err := s.entry(req, place.Server)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, precondition("the cluster has no secret to write the wish on; what is known of it is kept by a watch and needs no help")
	}
	stamp := s.Now().UTC().Format(time.RFC3339) + "." + strconv.Itoa(s.Now().Nanosecond())
	err = s.Writing.Clusters.Edit(req, now.Secret, roster.Edit{Annotations: map[string]*string{v1alpha1.AnnotationRefresh: &stamp}})
	if err != nil {
		return nil, err
	}
	return s.toldCluster(req, now.Server, func(c Place) bool { return c.Refresh == stamp })
}
