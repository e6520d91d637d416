package source

import (
	"context"
	"errors"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/towline-cd/towline/internal/core/fault"
	core "github.com/towline-cd/towline/internal/core/repository"
)

// sshBase lets nothing in that belongs to the machine: no configuration, no keys, no questions.
const sshBase = "ssh -F /dev/null -o BatchMode=yes -o UpdateHostKeys=no -o CheckHostIP=no -o ConnectTimeout=15 -o IdentityFile=none"

// signInSSH gives ssh the hosts to believe and, by an agent of our own, the key: it never touches a disk.
func (s *Store) signInSSH(ctx context.Context, repo *repository, entry core.Repository, made *session) error {
	if entry.Proxy != "" {
		return fault.Terminalf("ProxyUnsupported", "the entry of %s asks for a proxy, which is not supported for SSH; "+
			"use HTTPS, or remove proxy from the secret of the repository", repo.at.shown)
	}
	command := []string{sshBase}
	if entry.Insecure || entry.InsecureIgnoreHostKey {
		command = append(command, "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null")
	} else {
		path, err := made.file(&s.vault, "known_hosts", s.trust().KnownHosts+"\n")
		if err != nil {
			return err
		}
		command = append(command, "-o StrictHostKeyChecking=yes -o UserKnownHostsFile="+path)
	}
	command = append(command, "-o GlobalKnownHostsFile=/dev/null")
	if entry.SSHPrivateKey.Empty() {
		command = append(command, "-o IdentitiesOnly=yes -o IdentityAgent=none")
	} else {
		keys, err := keyring(entry.SSHPrivateKey)
		if err != nil {
			return fault.Terminalf("CredentialsInvalid", "the SSH key of %s cannot be used: %w; correct the secret of the repository",
				repo.at.shown, err)
		}
		socket, err := made.listen(ctx, &s.vault, "agent", func(conn net.Conn) { _ = agent.ServeAgent(signer{Agent: keys}, conn) })
		if err != nil {
			return err
		}
		command = append(command, "-o IdentitiesOnly=no -o IdentityAgent="+socket)
	}
	made.env = append(made.env, "GIT_SSH_VARIANT=ssh", "GIT_SSH_COMMAND="+strings.Join(command, " "))
	return nil
}

// keyring holds one key. What the parser says of a key is not passed on: it may repeat a part of it.
func keyring(key core.Secret) (agent.Agent, error) {
	private, err := ssh.ParseRawPrivateKey([]byte(strings.TrimRight(key.Reveal(), "\r\n \t") + "\n"))
	if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
		return nil, errors.New("it is protected by a passphrase")
	}
	if err != nil {
		return nil, errors.New("it is not a private key in the form of OpenSSH or PEM")
	}
	keys := agent.NewKeyring()
	if err := keys.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		return nil, errors.New("its type is not known")
	}
	return keys, nil
}

// signer is an agent that lists and signs, and lets nobody change its keys.
type signer struct{ agent.Agent }

var errAgentReadOnly = errors.New("this agent only signs")

func (signer) Add(agent.AddedKey) error   { return errAgentReadOnly }
func (signer) Remove(ssh.PublicKey) error { return errAgentReadOnly }
func (signer) RemoveAll() error           { return errAgentReadOnly }
func (signer) Lock([]byte) error          { return errAgentReadOnly }
func (signer) Unlock([]byte) error        { return errAgentReadOnly }

// SignWithFlags keeps the newer hashes of RSA keys reachable through the wrapper.
func (s signer) SignWithFlags(key ssh.PublicKey, data []byte, flags agent.SignatureFlags) (*ssh.Signature, error) {
	extended, ok := s.Agent.(agent.ExtendedAgent)
	if !ok {
		return s.Sign(key, data)
	}
	return extended.SignWithFlags(key, data, flags)
}

// Extension has none.
func (signer) Extension(string, []byte) ([]byte, error) { return nil, agent.ErrExtensionUnsupported }
