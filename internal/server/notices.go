package server

// Notices are the names of what there is to subscribe to.
type Notices struct{ Services, Templates, Triggers []string }

// noticeList is one of the lists, as Argo CD's pages ask for it.
func (s *Server) noticeList(of func(Notices) []string) func(*Request) (any, error) {
	return func(*Request) (any, error) {
		out := Items[PluginName]{Items: []PluginName{}}
		if s.Notices == nil {
			return out, nil
		}
		for _, name := range of(s.Notices()) {
			out.Items = append(out.Items, PluginName{Name: name})
		}
		return out, nil
	}
}
