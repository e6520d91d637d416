package server

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// isGRPC says that somebody speaks gRPC, in any of its forms: the stock client of Argo CD does.
func isGRPC(r *http.Request) bool {
	return strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "application/grpc")
}

// grpcAdvice is what the stock client prints.
const grpcAdvice = "this is Towline, which speaks REST and not gRPC: use the towline command, which knows the same commands and flags " +
	"(it is served at /download/towline-linux-amd64, and a link to it called argocd behaves as argocd does)"

// grpc answers a call at once, with a status and no message: a client that is not answered in its own form waits.
func (a *answer) grpc() {
	h := a.header()
	h.Set("Content-Type", a.request.Header.Get("Content-Type"))
	h.Set("Grpc-Status", strconv.Itoa(int(Unimplemented)))
	h.Set("Grpc-Message", strings.ReplaceAll(url.PathEscape(grpcAdvice), "%20", " "))
	h.Del("Content-Length")
	a.status = http.StatusOK
	a.writer.WriteHeader(http.StatusOK)
}
